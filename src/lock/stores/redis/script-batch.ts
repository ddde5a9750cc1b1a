import type { LuaCall, LuaScript, RedisClient } from './lua-script.js';

/**
 * Calls that share a command: enough to spare most of the cost, few enough that the server works on
 * one command while the client works on the answers of another. A crowd of calls shares so many
 * commands, unless they became too long for others to wait behind.
 */
const MIN_CALLS = 16;
const MAX_COMMANDS = 8;
const MAX_CALLS = 100;

/** A script for one call, and its short way for many. */
export interface BatchedScripts {
  readonly one: LuaScript;
  /** Takes the first key of every call, and makes the others. Answers 0 where it has left a call alone. */
  readonly many: LuaScript;
}

interface PendingCall extends LuaCall {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls share commands: those of one turn of the event loop, and, while an answer is awaited, those of
 * all sockets that this turn serves (Nagle's rule). A lone call is not delayed: it leaves before
 * anything else happens. What the short way leaves alone costs a second round trip.
 */
export class ScriptBatch {
  private calls: PendingCall[] = [];
  private inFlight = 0;

  constructor(
    private readonly client: RedisClient,
    private readonly scripts: BatchedScripts,
    /** Cleared for good when the server turns out to spread keys over slots. */
    private together: boolean,
  ) {}

  run({ keys, args }: LuaCall): Promise<unknown> {
    if (!this.together) return this.scripts.one.run(this.client, { keys, args });
    return new Promise((resolve, reject) => {
      if (this.calls.push({ keys, args, resolve, reject }) > 1) return;
      if (this.inFlight > 0) setImmediate(() => this.flush());
      else process.nextTick(() => this.flush());
    });
  }

  private flush(): void {
    const { calls } = this;
    this.calls = [];
    if (calls.length === 1 || !this.together) return calls.forEach((call) => this.sendAlone(call));
    const share = Math.ceil(calls.length / MAX_COMMANDS);
    const size = Math.min(Math.max(share, MIN_CALLS), MAX_CALLS);
    for (let at = 0; at < calls.length; at += size) this.sendTogether(calls.slice(at, at + size));
  }

  private sendAlone(call: PendingCall): void {
    this.send(this.scripts.one, call).then(call.resolve, call.reject);
  }

  private send(script: LuaScript, call: LuaCall): Promise<unknown> {
    this.inFlight += 1;
    return script.run(this.client, call).finally(() => (this.inFlight -= 1));
  }

  private sendTogether(calls: readonly PendingCall[]): void {
    const keys: string[] = [];
    const args: (string | number)[] = [];
    for (const call of calls) {
      keys.push(call.keys[0] as string);
      args.push(...call.args);
    }
    this.send(this.scripts.many, { keys, args }).then(
      (answers) =>
        calls.forEach((call, index) => {
          const answer = Array.isArray(answers) ? (answers as unknown[])[index] : answers;
          if (answer === 0) this.sendAlone(call);
          else call.resolve(answer);
        }),
      (error: unknown) => {
        if (!isAboutSlots(error)) return calls.forEach(({ reject }) => reject(error));
        this.together = false; // a command over several slots is refused before it runs
        calls.forEach((call) => this.sendAlone(call));
      },
    );
  }
}

/** The server is part of a cluster, whose commands must stay within one slot. */
export function isAboutSlots(error: unknown): boolean {
  return error instanceof Error && /^(?:CROSSSLOT|MOVED)/.test(error.message);
}
