import { type FastifyError, type FastifyReply, type FastifyRequest } from 'fastify';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type AppConfig } from '../config/index.js';
import { FIELDS_LIMIT_BYTES } from './bodies/body-limits.js';
import { ClientErrors } from './client-error.js';
import { codeOfStatus } from './problem-kinds.js';
import { sendProblem } from './send-problem.js';
import { build } from './translate.js';

// Longer than the idle connections of the usual balancers (60 s): whoever closes first must be the client.
const keepAliveTimeout = 72_000;
// A client that sends byte by byte holds a connection for no longer than this.
const requestTimeout = 300_000;
// Node looks for such clients every 30 s by default: then 60 s for the headers would be 90.
const connectionsCheckingInterval = 1_000;
// Longer than any valid id, so that validation answers 400 instead of the router's 414.
const maxParamLength = 1_000;

/** The Fastify adapter of the service. */
export function createAdapter(config: AppConfig): FastifyAdapter {
  const errors = new ClientErrors(config.instanceId);
  const adapter = new FastifyAdapter({
    http: { connectionsCheckingInterval, requireHostHeader: false }, // see refuseHeadMistakes
    keepAliveTimeout,
    requestTimeout,
    ...(config.http.trustProxy.length > 0 && { trustProxy: [...config.http.trustProxy] }),
    bodyLimit: FIELDS_LIMIT_BYTES, // routes that take a document say so
    return503OnClosing: false, // its body is Fastify's own; the drain refuses in ours
    routerOptions: { maxParamLength },
    clientErrorHandler: (error, socket) => errors.answer(error, socket),
    frameworkErrors: (error: FastifyError, _request: FastifyRequest, reply: FastifyReply) => {
      sendProblem(reply, build(codeOfStatus(error.statusCode ?? 400), error.message));
    },
  });
  errors.watch(adapter.getInstance().server);
  return adapter;
}
