import { pause } from '../lib/clock.mjs';
import { figure } from '../lib/format.mjs';
import { usage } from '../lib/service-stage.mjs';
import { median } from '../lib/statistics.mjs';

export const title = 'Start, and doing nothing';
export const about =
  'Locks in memory, SQLite. From spawning the process to the first 200 of `/health/ready`, the median of several starts; CPU and memory of a replica that nobody asks anything.';

/** @param {import('../lib/service-stage.mjs').Stage} stage */
export async function measure(stage) {
  const starts = [];
  for (let i = 0; i < (stage.isQuick ? 3 : 7); i += 1) {
    const began = performance.now();
    const service = await stage.service();
    starts.push(performance.now() - began);
    await service.stop();
  }
  const { pid } = await stage.service();
  await pause(3_000); // what a start leaves to be done
  const idleMs = stage.isQuick ? 5_000 : 30_000;
  const before = usage(pid);
  await pause(idleMs);
  const after = usage(pid);
  return [
    { what: 'start to ready', value: figure(median(starts), ' ms') },
    {
      what: 'idle CPU, of one core',
      value: figure(((after.cpuMs - before.cpuMs) / idleMs) * 100, ' %'),
    },
    { what: 'idle memory (RSS)', value: figure(after.rssMb, ' MB') },
  ];
}
