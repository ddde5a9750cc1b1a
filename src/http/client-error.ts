import { type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { type Socket } from 'node:net';
import { PROBLEM_MEDIA_TYPE } from './problem.js';
import { type ProblemCode } from './problem-kinds.js';
import { build } from './translate.js';

/**
 * Answers what is no request at all (broken HTTP, too many headers, headers or a body that never end):
 * Node reports it on the socket, where there may be no request to answer.
 */
export class ClientErrors {
  /** The answer to the last request that came on a connection, begun or not. */
  private readonly answers = new WeakMap<Socket, ServerResponse>();

  constructor(private readonly instanceId: string) {}

  /** Call it once, before the server's first request. */
  watch(server: Server): void {
    server.prependListener('request', ({ socket }, response) => {
      this.answers.set(socket, response);
    });
  }

  /** Ends the connection; says why first, where that is not taken for the answer to something else. */
  answer(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || socket.destroyed) return;
    if (socket.writable && this.isForUs(socket)) socket.write(this.problemOf(error));
    socket.destroy(error);
  }

  /** Whether what is said next on a connection answers what is wrong on it. */
  private isForUs(socket: Socket): boolean {
    const last = this.answers.get(socket);
    if (!last) return true;
    // Behind a request that has come in whole it is the next one that is wrong: its turn comes after that answer.
    return last.req.complete ? last.writableFinished : !last.headersSent;
  }

  private problemOf({ code: reason }: { code?: string }): string {
    const { body } = build(...explain(reason));
    const content = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status] ?? ''}`,
      `content-type: ${PROBLEM_MEDIA_TYPE}`,
      `content-length: ${Buffer.byteLength(content)}`,
      `x-served-by: ${this.instanceId}`,
      'connection: close',
    ];
    return `${head.join('\r\n')}\r\n\r\n${content}`;
  }
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
