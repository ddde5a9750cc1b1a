import { type FastifyInstance } from 'fastify';

/**
 * Reads JSON bodies: an empty one is undefined, `__proto__` and `constructor.prototype` are refused
 * with 400. No other body is parsed here, so other media types get 415.
 */
export function useJsonBodies(fastify: FastifyInstance): void {
  const parse = fastify.getDefaultJsonParser('error', 'error');
  fastify.removeContentTypeParser(['application/json', 'text/plain']);
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body.toString();
    if (text.trim() === '') done(null, undefined);
    else return parse(request, text, done);
  });
}
