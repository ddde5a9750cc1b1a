import { RouteConfig } from '@nestjs/platform-fastify';

/** Who may: everybody, whoever may write, or administrators only. */
export type AccessLevel = 'anyone' | 'writer' | 'admin';

/** What a route demands of a request before its body is read. */
export interface RouteRules {
  /** @default anyone for GET and HEAD, writer for all others */
  readonly access: AccessLevel;
  /**
   * The part of RATE_LIMIT_PER_MINUTE that one client has for this route; 0: no limit.
   * @default 5 for GET and HEAD, 1 for all others
   */
  readonly rate: number;
  /**
   * The largest body: a few fields (16 KiB), or a document (UPLOAD_LIMIT_MB).
   * @default fields
   */
  readonly body: 'fields' | 'upload';
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Those that the decorator names. */
    given?: Partial<RouteRules>;
    /** All of them, once the route is there. */
    rules?: RouteRules;
  }
}

/** Says what a handler demands of requests where that differs from the defaults of its method. */
export function Rules(rules: Partial<RouteRules>): MethodDecorator {
  return RouteConfig({ given: rules });
}

/** The rules of a route, the defaults of its method filled in. */
export function completeRules(
  method: string | readonly string[],
  given: Partial<RouteRules> = {},
): RouteRules {
  const isReading = [method].flat().every((name) => ['GET', 'HEAD', 'OPTIONS'].includes(name));
  return {
    access: given.access ?? (isReading ? 'anyone' : 'writer'),
    rate: given.rate ?? (isReading ? 5 : 1),
    body: given.body ?? 'fields',
  };
}
