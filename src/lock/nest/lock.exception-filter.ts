import type { ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { LockError } from '../core/lock.errors.js';
import { lockProblem } from './lock.problem.js';

/**
 * Answers lock errors over HTTP, on every platform adapter: 423 or 503 with Retry-After, 500 for
 * programming errors (logged), as application/problem+json. Outside of HTTP the error goes on.
 *
 * LockModule registers it. Beside a catch-all filter of the application's own:
 * - `app.useGlobalFilters(all)` and filters on controllers come first: let `all` ask
 *   `lockProblem(error)` and send its body and Retry-After with everything else it adds;
 * - a catch-all APP_FILTER comes after this one, so lock errors get the plain answer from here; with
 *   `LockModule.forRoot({ exceptionFilter: false, … })` they reach it (and `lockProblem` maps them).
 */
@Catch(LockError)
export class LockExceptionFilter implements ExceptionFilter<LockError> {
  private readonly logger = new Logger(LockExceptionFilter.name);

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(error: LockError, host: ArgumentsHost): void {
    const problem = lockProblem(error);
    if (host.getType() !== 'http' || !problem) throw error;
    const { body, retryAfterSeconds } = problem;
    if (body.status === 500) this.logger.error(error.message, error.stack);
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
}

/** A cut connection tells the client that an answer, once begun, is incomplete. */
function cut(response: unknown): void {
  const { raw = response } = response as { raw?: unknown }; // Fastify wraps Node's response
  (raw as Partial<ServerResponse>).destroy?.();
}
