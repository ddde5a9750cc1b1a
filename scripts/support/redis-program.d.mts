/** What runs a Redis server here: a program by its path, or the Docker image that stands in for it. */
export type RedisProgram =
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'docker'; readonly image: string };

/**
 * Finds what runs a Redis server; installs redis-server with apt where that needs nobody's leave;
 * otherwise falls back to Docker.
 * @throws saying exactly what to install
 */
export function ensureRedis(): Promise<RedisProgram>;

/** The same as `ensureRedis` where that has run before: costs next to nothing. */
export function findRedis(): Promise<RedisProgram>;
