/** Thrown where a function's source cannot be read; never leaves this folder's parser. */
export class UnreadableSourceError extends Error {}

const space = /\s/;
/** Characters of identifiers, numbers and private names; escapes (`\u0061`) count as such. */
const word = /\p{ID_Continue}|[$\\#]|\u200c|\u200d/u;
/** Words after which a `/` begins a regular expression. */
const operatorWords = new Set(
  'return typeof instanceof in of new delete void throw case do else await yield'.split(' '),
);
const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Walks over JavaScript source in tokens, as far as finding brackets and commas needs it. */
export class SourceScanner {
  /** Whether the last token ended an operand, so that a `/` would divide. */
  private afterOperand = false;

  constructor(
    private readonly source: string,
    private at = 0,
  ) {}

  /** The next token without taking it: a word, a bracket, `...`, `=>` or one character; '' at the end. */
  peek(): string {
    this.skipBlanks();
    const rest = this.source.slice(this.at, this.at + 3);
    if (rest === '...') return rest;
    if (rest.startsWith('=>')) return '=>';
    const character = this.character();
    return character !== '' && word.test(character) ? this.wordAt() : character;
  }

  /** Takes the next token; strings, templates, regular expressions and bracketed text as a whole. */
  take(): string {
    const token = this.peek();
    const start = this.at;
    if (token === '') throw new UnreadableSourceError('the source ends too early');
    if (token === '"' || token === "'") this.skipString(token);
    else if (token === '`') this.skipTemplate();
    else if (token === '/' && !this.afterOperand) this.skipRegularExpression();
    else if (closers[token] !== undefined) this.skipBrackets(closers[token]);
    else this.at += token.length;
    this.afterOperand = word.test(token.charAt(0))
      ? !operatorWords.has(token)
      : /^["'`/([{)\]}]/.test(token) && !(token === '/' && this.at === start + 1);
    return this.source.slice(start, this.at);
  }

  /** Steps inside a bracket that `peek` shows. */
  enter(): void {
    this.at += 1;
    this.afterOperand = false;
  }

  private skipBrackets(closer: string): void {
    this.enter();
    while (this.peek() !== closer) this.take();
    this.at += 1;
  }

  private skipString(quote: string): void {
    this.at += 1;
    while (this.character() !== quote) this.skipCharacter();
    this.at += 1;
  }

  private skipTemplate(): void {
    this.at += 1;
    while (this.character() !== '`') {
      if (this.source.startsWith('${', this.at)) {
        this.at += 1;
        this.skipBrackets('}');
      } else {
        this.skipCharacter();
      }
    }
    this.at += 1;
  }

  private skipRegularExpression(): void {
    this.at += 1;
    let inClass = false;
    while (inClass || this.character() !== '/') {
      if (this.character() === '[') inClass = true;
      if (this.character() === ']') inClass = false;
      this.skipCharacter();
    }
    this.at += 1;
    this.at += this.wordAt().length; // the flags
  }

  /** One character of a literal, an escaped one with its backslash. */
  private skipCharacter(): void {
    if (this.at >= this.source.length) throw new UnreadableSourceError('a literal does not end');
    this.at += this.character() === '\\' ? 2 : this.character().length;
  }

  private skipBlanks(): void {
    for (;;) {
      if (space.test(this.character())) this.at += 1;
      else if (this.source.startsWith('//', this.at)) this.skipTo('\n');
      else if (this.source.startsWith('/*', this.at)) this.skipTo('*/');
      else return;
    }
  }

  private skipTo(end: string): void {
    const found = this.source.indexOf(end, this.at + 2);
    if (found < 0) throw new UnreadableSourceError('a comment does not end');
    this.at = found + end.length;
  }

  private character(): string {
    const code = this.source.codePointAt(this.at);
    return code === undefined ? '' : String.fromCodePoint(code);
  }

  private wordAt(): string {
    let end = this.at;
    for (;;) {
      const code = this.source.codePointAt(end);
      const character = code === undefined ? '' : String.fromCodePoint(code);
      if (character === '' || !word.test(character)) return this.source.slice(this.at, end);
      end += character.length;
    }
  }
}
