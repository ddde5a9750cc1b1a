import { styleText } from 'node:util';

const actorWidth = 10;
const colours = ['cyan', 'magenta', 'yellow', 'blue', 'green', 'red'];

/** What happened, one line an event: when, who, what. Colours only on a terminal, and not with NO_COLOR. */
export class Timeline {
  #out;
  #startedAt = performance.now();
  #colourOf = new Map();
  #isColourful;

  constructor(out = process.stdout, env = process.env) {
    this.#out = out;
    this.#isColourful = out.isTTY && !env.NO_COLOR;
  }

  /** The headline of a scene. */
  scene(title) {
    this.#out.write(`\n${this.#paint('bold', title)}\n`);
  }

  /** Something that `actor` did or that happened to it. */
  event(actor, text) {
    const name = this.#paint(this.#colour(actor), actor.padEnd(actorWidth));
    this.#out.write(`${this.#paint('dim', this.#clock())}  ${name} ${text}\n`);
  }

  /** All claims with what was seen; widths fit the longest cells. */
  table(claims) {
    const head = ['what', 'claimed', 'seen', ''];
    const rows = claims.map(({ what, claimed, seen, holds }) => [
      what,
      claimed,
      seen,
      holds ? 'ok' : 'DIFFERS',
    ]);
    const widths = head.map((_, column) =>
      Math.max(...[head, ...rows].map((row) => row[column].length)),
    );
    const line = (row) => row.map((cell, column) => cell.padEnd(widths[column])).join('  ');
    this.#out.write(`\n${this.#paint('bold', line(head).trimEnd())}\n`);
    this.#out.write(`${widths.map((width) => '-'.repeat(width)).join('  ')}\n`);
    for (const row of rows) {
      const text = line(row).trimEnd();
      this.#out.write(`${this.#paint(row[3] === 'ok' ? 'green' : 'red', text)}\n`);
    }
    this.#out.write('\n');
  }

  /** A last word. */
  end(text) {
    this.#out.write(`${text}\n`);
  }

  #clock() {
    return `${((performance.now() - this.#startedAt) / 1000).toFixed(2).padStart(6)} s`;
  }

  #colour(actor) {
    if (!this.#colourOf.has(actor)) {
      this.#colourOf.set(actor, colours[this.#colourOf.size % colours.length]);
    }
    return this.#colourOf.get(actor);
  }

  #paint(style, text) {
    return this.#isColourful ? styleText(style, text) : text;
  }
}
