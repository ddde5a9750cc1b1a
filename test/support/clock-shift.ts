import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../scripts/support/installed.mjs';
import { type ServiceEnv } from './service-process.js';

/** Settings that make a process's wall clock wrong. */
export interface ClockShift extends AsyncDisposable {
  /** The environment of a process whose clock is `ms` ahead (behind, when negative). */
  env(ms: number): ServiceEnv;
  /** A clock that is right, and can be set while processes run. */
  stepper(): Promise<SteppedClock>;
}

/** The wall clock of some processes. */
export interface SteppedClock {
  /** How far it is ahead (behind, when negative), in ms. */
  readonly aheadMs: number;
  /** The environment of a process that lives by it. */
  readonly env: ServiceEnv;
  /** Sets it `ms` ahead of the machine's, for processes that run and those to come. */
  set(ms: number): Promise<void>;
}

/** Compiles the library that does it, or gives the reason why that cannot be done here. */
export async function buildClockShift(): Promise<ClockShift | string> {
  if (process.platform !== 'linux') return 'shifting a clock needs Linux';
  const compiler = (await findProgram('gcc')) ?? (await findProgram('cc'));
  if (!compiler) return 'shifting a clock needs a C compiler (gcc), and there is none';
  const directory = await mkdtemp(join(tmpdir(), 'clock-'));
  const library = join(directory, 'clock-shift.so');
  const source = resolve('test/support/clock-shift.c');
  await promisify(execFile)(compiler, ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  let steppers = 0;
  return {
    env: (ms) => ({ LD_PRELOAD: library, CLOCK_SHIFT_MS: String(ms) }),
    async stepper() {
      steppers += 1;
      const path = join(directory, `clock-${steppers}`);
      await writeFile(path, Buffer.alloc(8));
      return new FileClock(path, library);
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

class FileClock implements SteppedClock {
  aheadMs = 0;
  readonly env: ServiceEnv;

  constructor(
    private readonly path: string,
    library: string,
  ) {
    this.env = { LD_PRELOAD: library, CLOCK_SHIFT_FILE: path };
  }

  async set(ms: number): Promise<void> {
    const bits = Buffer.from(new BigInt64Array([BigInt(Math.round(ms))]).buffer);
    // In place: the processes have mapped this very file.
    await writeFile(this.path, bits, { flag: 'r+' });
    this.aheadMs = ms;
  }
}
