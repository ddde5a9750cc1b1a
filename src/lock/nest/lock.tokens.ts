import { Inject, type InjectionToken } from '@nestjs/common';
import { LockService } from './lock.service.js';

/** The name of the instance that is meant where none is given. */
export const DEFAULT_LOCK_INSTANCE = 'default';

/** The injection token of the LockService of one `LockModule.forRoot({ name })`; the class itself for the default. */
export function getLockServiceToken(name: string = DEFAULT_LOCK_INSTANCE): InjectionToken {
  return name === DEFAULT_LOCK_INSTANCE ? LockService : `LockService(${name})`;
}

/** The instance that a token of `getLockServiceToken` belongs to; undefined for other tokens. */
export function instanceOfToken(token: unknown): string | undefined {
  if (token === LockService) return DEFAULT_LOCK_INSTANCE;
  return typeof token === 'string' ? /^LockService\((.*)\)$/s.exec(token)?.[1] : undefined;
}

/** Injects the LockService of a named instance: `constructor(@InjectLock('jobs') locks: LockService)`. */
export function InjectLock(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLockServiceToken(name));
}
