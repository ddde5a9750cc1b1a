/** Of a lock in a campaign, in ms. */
export const TTL_MS = 2_000;
