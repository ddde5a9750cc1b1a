import type { LockStore } from '../../../../src/lock/core/lock-store.js';
import { LockUnavailableError } from '../../../../src/lock/core/lock.errors.js';
import type { Random } from '../world/random.js';
import type { Weather } from '../world/weather.js';
import type { World } from '../world/world.js';
import type { Server } from './server.js';

const USUAL_MS = [0.2, 3] as const;
const SLOW_MS = { least: 5, most: 3_000 };
const ERROR_AFTER_MS = [50, 4_000] as const;

/** The way from one process to the store and back: messages take their time, get lost, come twice, overtake each other. */
export class Link {
  private isCut = false;
  private isHealed = false;

  constructor(
    private readonly world: World,
    private readonly server: Server,
    private readonly weather: Weather,
    private readonly random: Random,
    private readonly process: string,
    private readonly inProcess: (run: () => void) => void,
  ) {}

  /** Nothing gets through until `join`. */
  cut(): void {
    this.isCut = true;
  }

  join(): void {
    this.isCut = false;
  }

  /** The process learns something of its own end of the link. */
  announce(run: () => void): void {
    this.inProcess(run);
  }

  /** From now on nothing more goes wrong. */
  heal(): void {
    this.isCut = false;
    this.isHealed = true;
  }

  /** Sends a request; settles with the reply in the process, or never, or fails as a connection does. */
  ask<T>(
    what: string,
    operation: (store: LockStore) => Promise<T>,
    onRepeated?: (reply: T) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (mayHaveRun: boolean) => () =>
        reject(new LockUnavailableError(undefined, 'the link broke', { mayHaveRun }));
      if (this.isCut && this.random.chance(0.5)) {
        this.world.trace(this.process, `${what} refused: no connection`);
        return fail(false)();
      }
      const lost = (part: string) => {
        this.world.note({ kind: 'fault', what: `${part} lost` });
        if (this.random.chance(0.5)) this.later(this.random.between(...ERROR_AFTER_MS), fail(true));
      };
      this.carry(
        `${what} request`,
        () =>
          this.server.handle((store) => {
            this.world.trace('store', () => `${what} of ${this.process}`);
            void operation(store).then((reply) =>
              this.carry(
                `${what} reply`,
                () =>
                  this.inProcess(() => {
                    this.world.trace(this.process, () => `${what} -> ${outline(reply)}`);
                    resolve(reply);
                  }),
                lost,
              ),
            );
          }),
        lost,
      );
      if (this.random.chance(this.isHealed ? 0 : this.weather.duplicate)) {
        this.world.note({ kind: 'fault', what: 'request repeated' });
        this.carry(`${what} again`, () =>
          this.server.handle((store) => void operation(store).then(onRepeated)),
        );
      }
    });
  }

  /** A message of the store's own accord. */
  tell(what: string, run: () => void): void {
    this.carry(
      what,
      () => this.inProcess(run),
      () => {
        this.world.note({ kind: 'fault', what: 'message lost' });
      },
    );
  }

  private carry(what: string, arrive: () => void, lost: (part: string) => void = () => undefined) {
    const { loss, slow } = this.isHealed ? { loss: 0, slow: 0 } : this.weather;
    if (this.isCut || this.random.chance(loss)) {
      this.world.trace(this.process, `${what} lost`);
      return lost(what.split(' ').at(-1) ?? '');
    }
    let delayMs = this.random.between(...USUAL_MS);
    if (this.random.chance(slow)) {
      delayMs = this.random.spread(SLOW_MS.least, SLOW_MS.most);
      this.world.note({ kind: 'fault', what: 'message delayed' });
    }
    this.world.scheduler.after(delayMs, () => {
      if (this.isCut) lost(what.split(' ').at(-1) ?? '');
      else arrive();
    });
  }

  private later(delayMs: number, run: () => void): void {
    this.world.scheduler.after(delayMs, () => this.inProcess(run));
  }
}

function outline(reply: unknown): string {
  if (Array.isArray(reply)) return reply.join();
  if (typeof reply !== 'object' || reply === null) return String(reply);
  return Object.entries(reply)
    .filter(([key]) => key !== 'token')
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(' ');
}
