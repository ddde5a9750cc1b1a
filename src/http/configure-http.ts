import { type Socket } from 'node:net';
import { type FastifyInstance } from 'fastify';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import { type AppConfig, APP_CONFIG } from '../config/index.js';
import { RedisClients } from '../redis/index.js';
import { guardRoutes } from './access/guard-routes.js';
import { limitRates } from './access/limit-rates.js';
import { Principals } from './access/principals.js';
import { describeApi } from './api/describe-api.js';
import { Drain } from './drain.js';
import { limitBodies } from './bodies/limit-bodies.js';
import { useBodies } from './bodies/json-body.js';
import { ProblemFilter } from './problem.filter.js';
import { refuseHeadMistakes } from './head-mistakes.js';
import { RouteTable } from './route-table.js';
import { sendProblem } from './send-problem.js';
import { build } from './translate.js';
import { requestValidation } from './validation.js';

// A frozen Redis delays a request by no more than this.
const rateTimeoutMs = 500;

/** Sets up what all requests have in common. Call it once, before the application is initialised. */
export async function configureHttp(app: NestFastifyApplication): Promise<void> {
  const config = app.get<AppConfig>(APP_CONFIG);
  const drain = app.get(Drain);
  const fastify = app.getHttpAdapter().getInstance();
  const routes = new RouteTable();

  refuseHeadMistakes(fastify);
  await protect(app, config);
  limitBodies(fastify);
  fastify.addHook('onRoute', ({ path, method, config: { rules } = {} }) => {
    routes.add(path, method, rules);
  });
  useBodies(fastify);
  app.useGlobalPipes(requestValidation());
  app.useGlobalFilters(new ProblemFilter(routes));

  SwaggerModule.setup('docs', app, () => describeApi(app, routes.rulesOf.bind(routes)), {
    raw: ['json'],
    customSiteTitle: 'doclock',
  });

  // On the server itself, since errors of the router and event streams bypass Fastify's hooks.
  fastify.server.prependListener('request', (_request, response) => {
    response.setHeader('x-served-by', config.instanceId);
    void drain.track(new Promise((resolve) => response.once('close', resolve)));
  });
  fastify.addHook('onRequest', async (request, reply) => {
    if (drain.signal.aborted && !request.url.startsWith('/health/')) {
      sendProblem(reply, build('shutting_down', ''));
      return reply;
    }
    return undefined;
  });
  endSilentConnections(fastify);
  fastify.addHook('onSend', async (_request, reply) => {
    if (drain.isLeaving) void reply.header('connection', 'close');
  });
}

async function protect(app: NestFastifyApplication, config: AppConfig): Promise<void> {
  app.useSecurityHeaders({
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } }, // TLS ends in front, if anywhere
  });
  app.enableCsrfProtection();
  const { access, http, lock, redis } = config;
  const fastify = app.getHttpAdapter().getInstance();
  guardRoutes(fastify, new Principals(access), http.uploadLimitBytes);
  if (http.rateLimitPerMinute === 0) return;
  await limitRates(fastify, {
    perMinute: http.rateLimitPerMinute,
    redis: redis
      ? app.get(RedisClients).create('rate limits', { commandTimeout: rateTimeoutMs })
      : undefined,
    namespace: `rate:${lock.prefix}`, // outside of the prefix, where only locks are
  });
}

/**
 * At the end the server waits for connections on which nothing was ever asked (a balancer's, a browser's
 * spare ones) as if a request were under way.
 */
function endSilentConnections(fastify: FastifyInstance): void {
  const silent = new Set<Socket>();
  fastify.server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  fastify.server.prependListener('request', ({ socket }) => silent.delete(socket));
  fastify.addHook('preClose', async () => {
    for (const socket of silent) {
      if (socket.bytesRead === 0) socket.destroy(); // half a request gets its answer
    }
  });
}
