import type { RedisClient } from './lua-script.js';

/** Resolves when the client's present try to connect has gone well, or has not; at once where there is none. */
export function settled(client: RedisClient): Promise<void> {
  if (client.status === 'ready' || client.status === 'end') return Promise.resolve();
  return new Promise((resolve) => {
    const events = ['ready', 'close', 'end'];
    const onEvent = () => {
      for (const event of events) client.off(event, onEvent);
      resolve();
    };
    for (const event of events) client.on(event, onEvent);
  });
}
