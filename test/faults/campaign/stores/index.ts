import type { StartStore } from '../store-world.js';
import { startRedisWorld } from './redis.js';

/** Every lock store that a campaign can break. */
export const stores = {
  redis: startRedisWorld,
} satisfies Readonly<Record<string, StartStore>>;

/** Where the locks of a campaign's service are. */
export type StoreName = keyof typeof stores;
