import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../scripts/support/installed.mjs';
import { type ServiceEnv } from './service-process.js';

/** Settings that make a process's wall clock wrong. */
export interface ClockShift extends AsyncDisposable {
  /** The environment of a process whose clock is `ms` ahead (behind, when negative). */
  env(ms: number): ServiceEnv;
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
  return {
    env: (ms) => ({ LD_PRELOAD: library, CLOCK_SHIFT_MS: String(ms) }),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
