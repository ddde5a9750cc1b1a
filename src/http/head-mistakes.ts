import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { sendProblem } from './send-problem.js';
import { build, type Translation } from './translate.js';

// More than any route has; validation takes quadratic time in them.
const maxParameters = 50;

/**
 * Answers, as a problem, what the head of a request shows to be wrong: too many query parameters, and what
 * HTTP/1.1 forbids or nobody can do. Node would answer the latter itself, without a body; so it is told to
 * leave them to us (see also `requireHostHeader`).
 */
export function refuseHeadMistakes(fastify: FastifyInstance): void {
  const { server } = fastify;
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  fastify.addHook('onRequest', async (request, reply) => {
    const mistake = mistakeOf(request);
    if (!mistake) return undefined;
    sendProblem(reply, mistake);
    return reply;
  });
}

function mistakeOf({ headers, raw, url }: FastifyRequest): Translation | undefined {
  if (url.split('&', maxParameters + 1).length > maxParameters) {
    return build('bad_request', `At most ${maxParameters} parameters are taken in a query.`);
  }
  if (raw.httpVersion !== '1.1') return undefined;
  if (headers.host === undefined) {
    return build('bad_request', 'The request has no Host header, which HTTP/1.1 demands.');
  }
  if (countOf('host', raw.rawHeaders) > 1) {
    return build('bad_request', 'The request has more than one Host header.');
  }
  const { expect } = headers;
  return expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect)
    ? undefined
    : build('expectation_failed', 'Of all expectations only 100-continue is met.');
}

/** How often a header was sent; `headers` holds the first value alone of one that may not be repeated. */
function countOf(name: string, rawHeaders: readonly string[]): number {
  return rawHeaders.filter((each, at) => at % 2 === 0 && each.toLowerCase() === name).length;
}
