// Takes the instance lock and keeps it until a line arrives; says "held", or the code of the refusal.
import { once } from 'node:events';

const { dataDir, mode } = JSON.parse(process.argv[2]);
const { InstanceLock } = await import(
  new URL('../../../dist/database/index.js', import.meta.url).href
);
try {
  const lock = await InstanceLock.acquire(dataDir, mode);
  process.stdout.write('held\n');
  await once(process.stdin, 'data');
  await lock.release();
  process.stdout.write('released\n');
  await once(process.stdin, 'data');
} catch (error) {
  process.stdout.write(`refused ${error.code}\n`);
}
process.exit(0);
