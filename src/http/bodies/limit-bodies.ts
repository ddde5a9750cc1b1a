import { Readable } from 'node:stream';
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { clientOf } from '../access/limit-rates.js';
import { PROBLEM_MEDIA_TYPE } from '../problem.js';
import { sendProblem } from '../send-problem.js';
import { translate } from '../translate.js';
import { BodyBudget } from './body-budget.js';
import {
  FIELDS_LIMIT_BYTES,
  MAX_ANSWER_IDLE_MS,
  MAX_BODIES_BYTES,
  MAX_BODIES_BYTES_PER_CLIENT,
  STREAM_COST_BYTES,
} from './body-limits.js';

/**
 * Bounds the memory of all large bodies together, documents that come in and answers that go out, with 503
 * beyond; and cuts clients that do not take their answers. Event streams have limits of their own.
 */
export function limitBodies(fastify: FastifyInstance): void {
  const budget = new BodyBudget({
    maxBytes: MAX_BODIES_BYTES,
    maxBytesPerClient: MAX_BODIES_BYTES_PER_CLIENT,
  });

  fastify.addHook('preParsing', (request, reply, payload, done) => {
    const cost = costOfRequest(request);
    try {
      if (cost > 0) request.raw.once('close', budget.take(clientOf(request), cost));
      done(null, payload);
    } catch (error) {
      sendProblem(reply, translate(error));
    }
  });

  fastify.addHook('onSend', async (request, reply, payload) => {
    const { raw } = reply;
    raw.setTimeout(MAX_ANSWER_IDLE_MS, () => raw.destroy());
    const cost = costOfAnswer(payload);
    if (cost <= FIELDS_LIMIT_BYTES || request.method === 'HEAD') return payload;
    try {
      raw.once('close', budget.take(clientOf(request), cost));
      return payload;
    } catch (error) {
      if (payload instanceof Readable) payload.destroy();
      return insteadOf(reply, error);
    }
  });
}

function costOfRequest({ headers, routeOptions }: FastifyRequest): number {
  if (routeOptions.config.rules?.body !== 'upload') return 0;
  const length = headers['content-length'];
  if (length === undefined)
    return headers['transfer-encoding'] === undefined ? 0 : STREAM_COST_BYTES;
  // It is there several times: as it comes, as it is gathered, as it is stored.
  return Math.min(4 * Number(length), STREAM_COST_BYTES);
}

function costOfAnswer(payload: unknown): number {
  if (payload instanceof Readable) return STREAM_COST_BYTES;
  return typeof payload === 'string' || payload instanceof Uint8Array ? payload.length : 0;
}

/** The problem in the place of an answer whose head has not been sent. */
function insteadOf(reply: FastifyReply, error: unknown): string {
  const { body, retryAfterSeconds } = translate(error);
  for (const name of ['content-length', 'content-disposition', 'etag'])
    void reply.removeHeader(name);
  void reply.code(body.status).type(PROBLEM_MEDIA_TYPE);
  if (retryAfterSeconds !== undefined) void reply.header('retry-after', retryAfterSeconds);
  return JSON.stringify(body);
}
