import rateLimit from '@fastify/rate-limit';
import { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { RedisClient } from '../../lock/index.js';
import { completeRules } from './route-rules.js';

/** The client has used its budget for a route. */
export class RateLimitedError extends Error {
  readonly code = 'rate_limited';

  constructor(
    /** When the budget is full again. */
    readonly retryAfterSeconds: number,
    perMinute: number,
  ) {
    super(`At most ${perMinute} requests a minute are taken here. Repeat it after Retry-After.`);
    this.name = 'RateLimitedError';
  }
}

type RateLimit = ReturnType<FastifyInstance['rateLimit']>;

/** What limits are made of. */
export interface RateTerms {
  /** Of one client at a route whose rate is 1. */
  readonly perMinute: number;
  /** Where replicas count together; undefined: each counts for itself. */
  readonly redis: RedisClient | undefined;
  /** What the keys in Redis begin with. */
  readonly namespace: string;
}

// Of what is asked where nothing is, whatever the method: as much as of reading at one route.
const vainRate = completeRules('GET').rate;
const windowMs = 60_000;
// An address of IPv6 costs nothing; its network does.
const ipv6Subnet = 64;

/**
 * Limits what one client (a token; without one, an address) may send to one route, or to where nothing
 * is, in a minute: call it after `guardRoutes`. @fastify/rate-limit rather than @nestjs/throttler: it refuses before the body is
 * read, and comes with a store in Redis, at one command a request. Limits protect the service and no
 * data, so while Redis gives no answer nothing is limited.
 */
export async function limitRates(
  fastify: FastifyInstance,
  { perMinute, redis, namespace }: RateTerms,
): Promise<void> {
  await fastify.register(rateLimit, {
    global: false,
    timeWindow: windowMs,
    redis,
    nameSpace: namespace,
    skipOnError: true,
    keyGenerator: clientOf,
    errorResponseBuilder: (_request, { ttl, max }) =>
      new RateLimitedError(Math.max(1, Math.ceil(ttl / 1000)), max),
    addHeaders: {
      'x-ratelimit-limit': false,
      'x-ratelimit-remaining': false,
      'x-ratelimit-reset': false,
      'retry-after': false, // the problem has it
    },
    addHeadersOnExceeding: {
      'x-ratelimit-limit': false,
      'x-ratelimit-remaining': false,
      'x-ratelimit-reset': false,
    },
  });
  const limits = new Map<string, RateLimit>();
  fastify.addHook('onRoute', (route) => {
    const { rate = 0 } = route.config?.rules ?? {};
    if (rate === 0) return;
    const counter = `${[route.method].flat().map(countedAs).join()} ${route.path}`;
    const limit =
      limits.get(counter) ??
      fastify.rateLimit({
        max: Math.max(1, Math.round(perMinute * rate)),
        keyGenerator: (request) => `${counter} ${clientOf(request)}`,
      });
    limits.set(counter, limit);
    route.onRequest = [route.onRequest ?? [], limit].flat();
  });
  const limitVain = fastify.rateLimit({ max: Math.max(1, Math.round(perMinute * vainRate)) });
  fastify.addHook('onRequest', async (request, reply) => {
    if (request.is404) await limitVain.call(fastify, request, reply);
  });
}

/** HEAD costs what GET costs, and so uses the same budget. */
function countedAs(method: string): string {
  return method === 'HEAD' ? 'GET' : method;
}

/** For whom a request counts: its token, or the address (of IPv6: the network) where there is none. */
export function clientOf({ principal, ip }: FastifyRequest): string {
  return principal === null || principal.name === 'anyone'
    ? rateLimit.normalizeIP(ip, ipv6Subnet)
    : principal.name;
}
