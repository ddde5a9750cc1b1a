import {
  DEAD_LOOKS,
  LOOK_STEP_MS,
  MAX_LOOK_MS,
  SAFETY_MS,
  TURN_MS,
} from '../../core/lock-store.js';

/** What queue.lua needs. `channelPrefix` is what the channels begin with on which processes are woken. */
export function queueConstants(channelPrefix: string) {
  return { SAFETY_MS, LOOK_STEP_MS, MAX_LOOK_MS, DEAD_LOOKS, TURN_MS, CHANNEL: channelPrefix };
}
