// Says "ready", waits for a line, and migrates; says which migrations it ran.
import { once } from 'node:events';

const options = JSON.parse(process.argv[2]);
const { migrate } = await import(new URL('../../../dist/database/index.js', import.meta.url).href);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
process.stdout.write(`ran ${JSON.stringify(await migrate(options))}\n`);
process.exit(0);
