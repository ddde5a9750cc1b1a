import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { FenceOptions } from '../core/fence-rule.js';
import type { LockOptions } from '../core/lock-options.js';
import { DEFAULT_LOCK_INSTANCE } from './lock.tokens.js';
import type { LockStoreOption } from './store.factory.js';

/** The settings of one lock instance. The lock options are the defaults of all its calls. */
export interface LockModuleOptions extends Partial<LockOptions>, FenceOptions {
  readonly store: LockStoreOption;
  /**
   * Shown as the holder's label, for people.
   * @default the host's name
   */
  readonly instanceId?: string | undefined;
  /**
   * How long holders may take to finish at shutdown, in ms.
   * @default 30000
   */
  readonly shutdownGraceMs?: number | undefined;
}

/** What is known of an instance before its settings are. */
export interface LockModuleExtras {
  /**
   * Tells several instances of one application apart.
   * @default 'default'
   */
  readonly name?: string | undefined;
  /**
   * Registers LockExceptionFilter for the whole application. Say false where a filter of your own
   * answers lock errors (with `lockProblem`): as an APP_FILTER it could come after this one.
   * @default true
   */
  readonly exceptionFilter?: boolean | undefined;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<LockModuleOptions>({ moduleName: 'Lock' })
    .setClassMethodName('forRoot')
    .setExtras<LockModuleExtras>({ name: DEFAULT_LOCK_INSTANCE, exceptionFilter: true })
    .build();
