/** What no document needs is refused above this. */
export const FIELDS_LIMIT_BYTES = 16 * 1024;

/** What all bodies that are under way may take of memory together, and those of one client. */
export const MAX_BODIES_BYTES = 128 * 2 ** 20;
export const MAX_BODIES_BYTES_PER_CLIENT = 32 * 2 ** 20;

/** What a body takes at most that comes in or goes out piece by piece. */
export const STREAM_COST_BYTES = 2 ** 20;

/** A client that sends nothing of its body for so long, or takes nothing of its answer, is cut. */
export const MAX_BODY_IDLE_MS = 20_000;
export const MAX_ANSWER_IDLE_MS = 30_000;
