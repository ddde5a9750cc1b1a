import { type DynamicModule, type InjectionToken, Module } from '@nestjs/common';
import { IDEMPOTENCY_OPTIONS, type IdempotencyOptions } from './idempotency-options.js';
import { IdempotencyService } from './idempotency.service.js';

/** How the options are made of other providers. */
export interface IdempotencyAsyncOptions<T extends unknown[]> {
  readonly inject: readonly InjectionToken[];
  readonly useFactory: (...injected: T) => IdempotencyOptions;
}

/** Serves `@Idempotent()` in the whole application. Needs LockModule: the mark of who works is a lock. */
@Module({})
export class IdempotencyModule {
  static forRootAsync<T extends unknown[]>({
    inject,
    useFactory,
  }: IdempotencyAsyncOptions<T>): DynamicModule {
    return {
      module: IdempotencyModule,
      global: true,
      providers: [
        { provide: IDEMPOTENCY_OPTIONS, inject: [...inject], useFactory },
        IdempotencyService,
      ],
      exports: [IDEMPOTENCY_OPTIONS, IdempotencyService],
    };
  }
}
