import type { ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Observable, throwError } from 'rxjs';
import { LockError } from '../core/lock.errors.js';
import { type LockProblem, type LockProblemCode, lockProblem } from './lock.problem.js';

/**
 * Answers lock errors over HTTP, on every platform adapter: 423 or 503 with Retry-After, 500 for
 * programming errors (logged), as application/problem+json. The client of a microservice gets them as
 * the error of its call, a WebSocket client as the event `exception`, both as a LockFailure; what a
 * microservice could not do is logged as well, since nobody waits for the answer to an event. Elsewhere
 * (GraphQL, external contexts) the error goes on to the caller.
 *
 * LockModule registers it; a gateway needs `@UseFilters(LockExceptionFilter)`, since Nest applies no
 * global filters there. Beside a catch-all filter of the application's own:
 * - `app.useGlobalFilters(all)` and filters on controllers come first: let `all` ask
 *   `lockProblem(error)` and send its body and Retry-After with everything else it adds;
 * - a catch-all APP_FILTER comes after this one, so lock errors get the plain answer from here; with
 *   `LockModule.forRoot({ exceptionFilter: false, … })` they reach it (and `lockProblem` maps them).
 */
@Catch(LockError)
export class LockExceptionFilter implements ExceptionFilter<LockError> {
  private readonly logger = new Logger(LockExceptionFilter.name);

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(error: LockError, host: ArgumentsHost): Observable<never> | undefined {
    const problem = lockProblem(error);
    if (!problem) throw error;
    switch (host.getType()) {
      case 'http':
        this.reply(problem, error, host);
        return undefined;
      case 'rpc':
        this.log(problem, error, 'warn');
        return throwError(() => failureOf(problem));
      case 'ws':
        this.log(problem, error);
        tellWebSocket(problem, host);
        return undefined;
      default:
        throw error;
    }
  }

  private reply(problem: LockProblem, error: LockError, host: ArgumentsHost): void {
    const { body, retryAfterSeconds } = problem;
    this.log(problem, error);
    const { httpAdapter } = this.adapterHost;
    const response: unknown = host.switchToHttp().getResponse();
    if (httpAdapter.isHeadersSent(response)) {
      cut(response);
      return;
    }
    if (retryAfterSeconds !== undefined) {
      httpAdapter.setHeader(response, 'Retry-After', String(retryAfterSeconds));
    }
    httpAdapter.setHeader(response, 'Content-Type', 'application/problem+json');
    httpAdapter.reply(response, body, body.status);
  }

  /** A programming error, with its stack; an expected outcome only where `level` is given, in one line. */
  private log({ body }: LockProblem, error: LockError, level?: 'warn'): void {
    if (body.status === 500) this.logger.error(error.message, error.stack);
    else if (level) this.logger[level](error.message);
  }
}

/** What a client is told of a lock error outside of HTTP, in the form of Nest's own errors there. */
export interface LockFailure {
  readonly status: 'error';
  /** Stable, for programs. */
  readonly code: LockProblemCode;
  readonly message: string;
  /** When a next try is likely to succeed; undefined where a retry will not help. */
  readonly retryAfterSeconds?: number;
}

function failureOf({ body, retryAfterSeconds }: LockProblem): LockFailure {
  return {
    status: 'error',
    code: body.code,
    message: body.detail,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** As Nest does it, whose own handler says nothing where another filter has caught: with what failed. */
function tellWebSocket(problem: LockProblem, host: ArgumentsHost): void {
  const ws = host.switchToWs();
  const client = ws.getClient<WebSocketClient>();
  const data = {
    ...failureOf(problem),
    cause: { pattern: ws.getPattern(), data: ws.getData<unknown>() },
  };
  if (typeof client.readyState === 'number') {
    client.send?.(JSON.stringify({ event: 'exception', data }));
  } else client.emit?.('exception', data);
}

/** A plain WebSocket, or a client of Socket.IO (a plain one has an `emit` too, which sends nothing). */
interface WebSocketClient {
  readonly readyState?: number;
  send?(text: string): void;
  emit?(event: string, data: unknown): void;
}

/** A cut connection tells the client that an answer, once begun, is incomplete. */
function cut(response: unknown): void {
  const { raw = response } = response as { raw?: unknown }; // Fastify wraps Node's response
  (raw as Partial<ServerResponse>).destroy?.();
}
