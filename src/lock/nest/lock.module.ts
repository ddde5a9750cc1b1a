import { type DynamicModule, Module, type OnModuleInit, type Provider } from '@nestjs/common';
import { APP_FILTER, ModulesContainer } from '@nestjs/core';
import { LockOptionsError } from '../core/lock.errors.js';
import { LockExceptionFilter } from './lock.exception-filter.js';
import { LockHealth } from './lock.health.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  type LockModuleExtras,
  type LockModuleOptions,
  MODULE_OPTIONS_TOKEN,
  type OPTIONS_TYPE,
} from './lock.module-definition.js';
import { LockService } from './lock.service.js';
import { DEFAULT_LOCK_INSTANCE, getLockServiceToken, instanceOfToken } from './lock.tokens.js';
import { createLockStore } from './store.factory.js';

/**
 * One lock instance for the whole application (the module is global), or several under different
 * names. Boot fails on wrong options, on a store that cannot be used, and on two instances of one
 * name, which would not exclude each other.
 */
@Module({})
export class LockModule extends ConfigurableModuleClass implements OnModuleInit {
  constructor(private readonly modules: ModulesContainer) {
    super();
  }

  /** An instance with settings that are known now. */
  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    return complete(super.forRoot(options), options);
  }

  /** An instance whose settings come from other providers; `name` and `exceptionFilter` are given directly. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return complete(super.forRootAsync(options), options);
  }

  onModuleInit(): void {
    const names = [...this.modules.values()]
      .filter(({ metatype }) => metatype === LockModule)
      .flatMap(({ exports }) => [...exports].map(instanceOfToken))
      .filter((name) => name !== undefined);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice === undefined) return;
    throw new LockOptionsError(
      `LockModule has two instances named "${twice}", which would not exclude each other. Import it once, or give each a name of its own.`,
    );
  }
}

function complete(definition: DynamicModule, extras: LockModuleExtras): DynamicModule {
  const { name = DEFAULT_LOCK_INSTANCE, exceptionFilter = true } = extras;
  if (typeof name !== 'string' || name === '') {
    throw new LockOptionsError(`The name of a lock instance must be a string that is not empty.`);
  }
  const token = getLockServiceToken(name);
  const providers: Provider[] = [
    {
      provide: token,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: ({
        store,
        instanceId,
        shutdownGraceMs,
        fenceBase,
        highestFence,
        ...defaults
      }: LockModuleOptions) =>
        new LockService({
          store: createLockStore(store),
          instanceId,
          shutdownGraceMs,
          fenceBase,
          highestFence,
          defaults,
        }),
    },
  ];
  const exported = [token];
  if (name === DEFAULT_LOCK_INSTANCE) {
    providers.push(LockHealth);
    exported.push(LockHealth);
  }
  if (exceptionFilter) providers.push({ provide: APP_FILTER, useClass: LockExceptionFilter });
  return {
    ...definition,
    global: true,
    providers: [...(definition.providers ?? []), ...providers],
    exports: exported,
  };
}
