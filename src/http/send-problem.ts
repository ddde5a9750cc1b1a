import { type FastifyReply } from 'fastify';
import { PROBLEM_MEDIA_TYPE } from './problem.js';
import { type Translation } from './translate.js';

/** Ends a reply with a problem. */
export function sendProblem(reply: FastifyReply, { body, retryAfterSeconds }: Translation): void {
  if (retryAfterSeconds !== undefined) void reply.header('retry-after', retryAfterSeconds);
  void reply.code(body.status).type(PROBLEM_MEDIA_TYPE).send(JSON.stringify(body));
}
