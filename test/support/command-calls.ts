import type { Redis } from 'ioredis';

/** How often the server ran that command since its start, or since CONFIG RESETSTAT. */
export async function calls(admin: Redis, command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}
