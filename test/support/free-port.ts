import { createServer, type Server } from 'node:net';

/** A loopback port that nobody listened on a moment ago. Two calls in a row give different ports. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const port = portOf(probe);
      probe.close(() => resolve(port));
    });
  });
}

/** The port that a listening server got. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server listens on no port.');
  return address.port;
}
