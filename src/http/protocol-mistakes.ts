import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { sendProblem } from './send-problem.js';
import { build, type Translation } from './translate.js';

/**
 * Answers, as a problem, requests that HTTP/1.1 forbids or that want what nobody can do. Node would answer
 * them itself, without a body; so it is told to leave them to us (see also `requireHostHeader`).
 */
export function refuseProtocolMistakes(fastify: FastifyInstance): void {
  const { server } = fastify;
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  fastify.addHook('onRequest', async (request, reply) => {
    const mistake = mistakeOf(request);
    if (!mistake) return undefined;
    sendProblem(reply, mistake);
    return reply;
  });
}

function mistakeOf({ headers, raw }: FastifyRequest): Translation | undefined {
  if (raw.httpVersion !== '1.1') return undefined;
  if (headers.host === undefined) {
    return build('bad_request', 'The request has no Host header, which HTTP/1.1 demands.');
  }
  const { expect } = headers;
  return expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect)
    ? undefined
    : build('expectation_failed', 'Of all expectations only 100-continue is met.');
}
