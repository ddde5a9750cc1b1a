/**
 * Preloaded with `--import`: in the main thread and in every worker thread, whoever opens a
 * connection or looks up a name gets an error, and a line in the file NETWORK_LOG.
 */
import dgram from 'node:dgram';
import dns from 'node:dns';
import { appendFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { threadId } from 'node:worker_threads';

const log = (line) => appendFileSync(process.env.NETWORK_LOG, `${line} in thread ${threadId}\n`);

function forbid(owner, name) {
  owner[name] = () => {
    log(`used ${name}`);
    throw new Error(`This process has no network: ${name}`);
  };
}

forbid(net.Socket.prototype, 'connect');
forbid(dgram.Socket.prototype, 'send');
for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6']) {
  forbid(dns, name);
  forbid(dns.promises, name);
}
forbid(globalThis, 'fetch');
syncBuiltinESMExports();
log('armed');
