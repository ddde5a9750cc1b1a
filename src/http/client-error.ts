import { STATUS_CODES } from 'node:http';
import { type Socket } from 'node:net';
import { PROBLEM_MEDIA_TYPE } from './problem.js';
import { type ProblemCode } from './problem-kinds.js';
import { build } from './translate.js';

/**
 * Answers what is no request at all (broken HTTP, too many headers, headers or a body that never end):
 * Node reports it on the socket, before there is a request to answer.
 */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  instanceId: string,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) {
    const [code, detail] = explain(error.code);
    const { body } = build(code, detail);
    const content = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status] ?? ''}`,
      `content-type: ${PROBLEM_MEDIA_TYPE}`,
      `content-length: ${Buffer.byteLength(content)}`,
      `x-served-by: ${instanceId}`,
      'connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${content}`);
  }
  socket.destroy(error);
}

function explain(code: string | undefined): [ProblemCode, string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return ['headers_too_large', 'The headers are larger than 16 KiB together.'];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['request_timeout', 'The request did not arrive in time. Send it again, all at once.'];
    default:
      return ['bad_request', 'What was sent is not HTTP/1.1.'];
  }
}
