import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  Logger,
  type NestInterceptor,
} from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { lastValueFrom, type Observable, of } from 'rxjs';
import { fingerprintOf, recordId } from './fingerprint.js';
import { IdempotencyKeyMissingError } from './idempotency.errors.js';
import { parseIdempotencyKey } from './idempotency-key.js';
import { IDEMPOTENCY_OPTIONS, type IdempotencyOptions } from './idempotency-options.js';
import { IdempotencyService } from './idempotency.service.js';
import { type StoredAnswer } from './idempotency-store.js';
import { type IdempotentRun } from './idempotent-run.js';
import { IDEMPOTENT_ROUTE, type IdempotentOptions } from './idempotent-route.js';
import { identityOf, type IncomingRequest } from './request-identity.js';
import { bodyOf, fitsStore, isFinal, STORED_HEADERS, storedBody } from './stored-answer.js';

/** Does what `@Idempotent()` says, on every platform adapter. */
@Injectable()
export class IdempotentInterceptor implements NestInterceptor {
  private readonly logger = new Logger(IdempotentInterceptor.name);

  constructor(
    private readonly service: IdempotencyService,
    @Inject(IDEMPOTENCY_OPTIONS) private readonly options: IdempotencyOptions,
    private readonly adapterHost: HttpAdapterHost,
    private readonly reflector: Reflector,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<IncomingRequest>();
    const response = context.switchToHttp().getResponse<object>();
    const header = request.headers['idempotency-key'];
    if (header === undefined) {
      const route = this.reflector.get<IdempotentOptions>(IDEMPOTENT_ROUTE, context.getHandler());
      if (route.required) throw new IdempotencyKeyMissingError();
      return next.handle();
    }
    const { principal = () => 'anyone', track = (run) => run } = this.options;
    const key = parseIdempotencyKey(header);
    const identity = identityOf(request, principal(request));
    const keyed = { id: recordId(identity, key), fingerprint: fingerprintOf(identity) };
    const outcome = await track(this.service.once(keyed, (run) => this.work(run, next, response)));
    return of('replay' in outcome ? this.replay(outcome.replay, response) : outcome.result);
  }

  private async work(run: IdempotentRun, next: CallHandler, response: object): Promise<unknown> {
    let value: unknown;
    try {
      value = await run.enter(
        (body) => this.snapshot(body, response),
        () => lastValueFrom(next.handle(), { defaultValue: undefined }),
      );
    } catch (error) {
      const answer = this.options.errorAnswer(error);
      const isKept = isFinal(answer.status) && fitsStore(answer.body);
      await (isKept ? run.finish(answer) : this.drop(run));
      if (isFinal(answer.status) && !isKept) this.sayNotStored(response);
      throw error;
    }
    const answer = this.snapshot(value, response);
    if (!answer || !isFinal(answer.status)) await this.drop(run);
    else if (!run.isRecorded) await run.finish(answer);
    if (!answer) this.sayNotStored(response);
    return value;
  }

  private sayNotStored(response: object): void {
    if (!this.isSent(response)) this.setHeader(response, 'Idempotency-Stored', 'false');
  }

  /** A record that stays blocks nobody: the answer that is on its way matters more. */
  private async drop(run: IdempotentRun): Promise<void> {
    await run.drop().catch((error: unknown) => {
      this.logger.warn(`The record of an unfinished idempotent request stays: ${String(error)}`);
    });
  }

  /** The answer as it stands; null where it cannot be given again. */
  private snapshot(value: unknown, response: object): StoredAnswer | null {
    const body = this.isSent(response) ? undefined : storedBody(value);
    if (body === undefined) return null;
    const { httpAdapter } = this.adapterHost;
    const headers: Record<string, string> = {};
    for (const name of STORED_HEADERS) {
      const set: unknown = httpAdapter.getHeader?.(response, name);
      if (typeof set === 'string' || typeof set === 'number') headers[name] = String(set);
    }
    return { status: (response as { statusCode: number }).statusCode, headers, body };
  }

  private replay(answer: StoredAnswer, response: object): unknown {
    this.adapterHost.httpAdapter.status(response, answer.status);
    for (const [name, value] of Object.entries(answer.headers)) {
      this.setHeader(response, name, value);
    }
    this.setHeader(response, 'Idempotency-Replayed', 'true');
    return bodyOf(answer);
  }

  private isSent(response: object): boolean {
    return this.adapterHost.httpAdapter.isHeadersSent(response) === true;
  }

  private setHeader(response: object, name: string, value: string): void {
    this.adapterHost.httpAdapter.setHeader(response, name, value);
  }
}
