import { type FastifyReply, type FastifyRequest } from 'fastify';
import { FIELDS_LIMIT_BYTES } from './bodies/body-limits.js';
import { PROBLEM_MEDIA_TYPE } from './problem.js';
import { type Translation } from './translate.js';

/** Ends a reply with a problem; and the connection, where it comes before a body that nobody will read. */
export function sendProblem(reply: FastifyReply, { body, retryAfterSeconds }: Translation): void {
  if (isLargeAndUnread(reply.request) || body.code === 'request_timeout')
    void reply.header('connection', 'close');
  if (retryAfterSeconds !== undefined) void reply.header('retry-after', retryAfterSeconds);
  void reply.code(body.status).type(PROBLEM_MEDIA_TYPE).send(JSON.stringify(body));
}

/** A small rest is read and thrown away, so that the client does not miss the answer while it sends. */
function isLargeAndUnread({ raw, headers }: FastifyRequest): boolean {
  if (raw.complete) return false;
  const length = Number(headers['content-length'] ?? 0);
  return headers['transfer-encoding'] !== undefined || length > FIELDS_LIMIT_BYTES;
}
