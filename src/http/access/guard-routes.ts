import { NotFoundException } from '@nestjs/common';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { FIELDS_LIMIT_BYTES } from '../bodies/body-limits.js';
import { sendProblem } from '../send-problem.js';
import { build } from '../translate.js';
import { may, type Principal, type Principals } from './principals.js';
import { completeRules } from './route-rules.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sends it; null for a token that is not known. */
    principal: Principal | null;
  }
}

/**
 * Applies the rules of every route, as hooks before the body is read: they cost microseconds, and who may
 * not gets no memory. Between finding out who asks and refusing them is where limits belong: guesses count.
 */
export function guardRoutes(
  fastify: FastifyInstance,
  principals: Principals,
  uploadLimitBytes: number,
): void {
  fastify.decorateRequest('principal', null);
  fastify.addHook('onRoute', (route) => {
    const rules = completeRules(route.method, route.config?.given);
    route.config = { ...route.config, rules };
    route.bodyLimit ??= rules.body === 'upload' ? uploadLimitBytes : FIELDS_LIMIT_BYTES;
  });
  fastify.addHook('onRequest', (request, _reply, done) => {
    request.principal = principals.of(request.headers.authorization);
    done();
  });
  fastify.addHook('preParsing', (request, reply, payload, done) => {
    const needed = request.routeOptions.config.rules?.access ?? 'anyone';
    if (request.is404) done(new NotFoundException());
    else if (!may(request.principal ?? nobody, needed)) refuse(request, reply);
    else {
      const unsupported = whatIsUnsupported(request);
      if (unsupported === undefined) done(null, payload);
      else sendProblem(reply, build('unsupported_media_type', unsupported));
    }
  });
}

/** Why the body is not of a kind that the route takes, as far as the headers tell; undefined where it may be. */
function whatIsUnsupported({ headers, routeOptions }: FastifyRequest): string | undefined {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    // Nobody knows how large what is compressed will be.
    return 'Compressed bodies are not taken. Send it without Content-Encoding.';
  }
  const isForm = headers['content-type']?.trim().toLowerCase().startsWith('multipart/') ?? false;
  return isForm && routeOptions.config.rules?.body !== 'upload'
    ? 'No form is taken here. Send JSON, or nothing where the route takes no fields.'
    : undefined;
}

const nobody: Principal = { name: 'nobody', level: 'anyone' };

function refuse({ headers, principal }: FastifyRequest, reply: FastifyReply): void {
  if (principal !== null && headers.authorization !== undefined) {
    void reply.header('www-authenticate', 'Bearer realm="doclock", error="insufficient_scope"');
    sendProblem(
      reply,
      build('forbidden', 'Only who has the ADMIN_TOKEN of the service may do this.'),
    );
    return;
  }
  const isWrong = headers.authorization !== undefined;
  void reply.header(
    'www-authenticate',
    `Bearer realm="doclock"${isWrong ? ', error="invalid_token"' : ''}`,
  );
  const detail = isWrong
    ? 'The token is not known. Send one of the service’s tokens as Authorization: Bearer <token>.'
    : 'Send a token of the service as Authorization: Bearer <token>.';
  sendProblem(reply, build('unauthorized', detail));
}
