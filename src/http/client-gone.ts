import { type Socket } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';

/** The reason of a wait that was given up, since its client had gone. Nobody is there to be answered. */
export class ClientGoneError extends Error {
  constructor() {
    super('The client closed its connection before its work had begun.');
    this.name = 'ClientGoneError';
  }
}

/**
 * An AbortSignal that aborts when the client closes its connection before it is answered: for waits, so
 * that nobody who has gone is served before somebody who waits. Undefined for a request with an
 * Idempotency-Key, whose answer is kept for its repetition.
 */
export const WhileConnected = createParamDecorator(
  (_data: unknown, context: ExecutionContext): AbortSignal | undefined => {
    const http = context.switchToHttp();
    const { headers, raw } = http.getRequest<FastifyRequest>();
    if (headers['idempotency-key'] !== undefined) return undefined;
    const control = new AbortController();
    const leave = () => control.abort(new ClientGoneError());
    const forget = onceClosed(raw.socket, leave);
    const response = http.getResponse<FastifyReply>().raw;
    response.once('close', () => {
      forget();
      if (!response.writableFinished) leave(); // it hears of the connection before we do
    });
    return control.signal;
  },
);

const closing = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `callback` when the connection closes (the request itself has no event for it once its body was
 * read). Returns what forgets it. One listener per connection, however many requests come on it at once.
 */
function onceClosed(socket: Socket, callback: () => void): () => void {
  if (socket.destroyed) {
    callback();
    return () => undefined;
  }
  let callbacks = closing.get(socket);
  if (!callbacks) {
    const all = new Set<() => void>();
    socket.once('close', () => all.forEach((each) => each()));
    closing.set(socket, (callbacks = all));
  }
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}
