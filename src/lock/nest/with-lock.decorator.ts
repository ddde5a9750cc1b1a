import { Inject } from '@nestjs/common';
import type { Hold } from '../core/hold.js';
import type { LockNames } from '../core/lock-manager.js';
import { LockName, sortedNames } from '../core/lock-name.js';
import { LockBusyError, LockOptionsError } from '../core/lock.errors.js';
import { copyIdentity } from './copy-identity.js';
import {
  CoveredGenerator,
  isAsyncGeneratorFunction,
  usableAsGenerator,
} from './cover-generator.js';
import { coverResult } from './cover-result.js';
import type { LockService } from './lock.service.js';
import { DEFAULT_LOCK_INSTANCE, getLockServiceToken } from './lock.tokens.js';
import { compileTemplate } from './name-template.js';
import { keepParameters, parametersOf } from './parameter-names.js';
import {
  type ResolvedWithLockOptions,
  resolveWithLockOptions,
  type WithLockOptions,
} from './with-lock.options.js';
import type { LockNameFunction, WithLockDecorator } from './with-lock.types.js';

type AnySignal = (...args: unknown[]) => AbortSignal | undefined;
type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Runs the method under a lock. `name` is a template whose placeholders are parameters of the method
 * (`'doc:<id>'`) or their fields (`'doc:<dto.id>'`), or a function of the arguments. Several names are
 * taken together, all or none: `['account:<from>', 'account:<to>']`; `currentLease().fenceOf(name)` has
 * the fence of each.
 *
 * - The lock is held for the whole result: until a promise has settled, and until a stream,
 *   StreamableFile, Observable or async generator has ended, failed or been cancelled. An async
 *   generator takes it with its first step; everything else at the call.
 * - Works above and below other decorators, on controllers, providers and `@Cron` methods. Below one
 *   that replaces the method without naming its parameters, only the function form can.
 * - The application does not start unless LockModule (with the `instance`) is imported.
 * - A default value of a parameter is not seen by the template.
 *
 * The call fails with LockBusyError or LockWaitTimeoutError, LockUnavailableError, LockReentryError,
 * LockOptionsError (a value that cannot name a lock; the store is not asked), and with LockLostError
 * if the lease was lost before the end. Costs two round trips, one if busy.
 * @throws LockOptionsError when the class is defined, for templates and options that cannot work
 */
export function WithLock<
  A extends readonly unknown[] = readonly unknown[],
  const O extends WithLockOptions = WithLockOptions,
>(name: string | readonly string[] | LockNameFunction<A>, options?: O): WithLockDecorator<A, O> {
  return (target, property, descriptor) => {
    const site = siteOf(target, property, name);
    const original = descriptor.value as AnyMethod | undefined;
    if (typeof original !== 'function' || typeof target === 'function') {
      throw new LockOptionsError(`${site} works on methods of instances only.`);
    }
    const settings = atSite(site, () => resolveWithLockOptions(options ?? {}));
    const serviceKey = serviceKeyOf(settings.instance);
    const namesOf = namesOfCall(name as NameOption, original, site);
    const take: Take = (self, args) => {
      const locks = (self as Record<symbol, LockService> | undefined)?.[serviceKey];
      if (!locks) throw notInjected(site);
      const signal = (settings.signal as AnySignal | undefined)?.apply(self, args);
      return holdOrSkip(locks, namesOf(self, args), settings, signal);
    };
    const wrapper = isAsyncGeneratorFunction(original)
      ? lockedGenerator(original, take)
      : lockedMethod(original, take);
    copyIdentity(original, wrapper);
    keepParameters(original, wrapper);
    Inject(getLockServiceToken(settings.instance))(target, serviceKey);
    (descriptor as TypedPropertyDescriptor<unknown>).value = wrapper;
  };
}

/** Takes the lock for one call; undefined where a busy lock is to be skipped. Throws at once what no lock can help. */
type Take = (self: unknown, args: unknown[]) => Promise<Hold | undefined>;

function lockedMethod(original: AnyMethod, take: Take): AnyMethod {
  const run = async (self: unknown, args: unknown[]) => {
    const hold = await take(self, args);
    if (!hold) return undefined;
    let result: unknown;
    try {
      result = await hold.enter(async () => original.apply(self, args));
    } catch (error) {
      await hold.end();
      throw error;
    }
    return coverResult(result, hold);
  };
  if (Object.prototype.toString.call(original) === '[object AsyncFunction]') {
    return function (...args) {
      return run(this, args);
    };
  }
  return function (...args) {
    return usableAsGenerator(run(this, args));
  };
}

function lockedGenerator(
  original: (...args: unknown[]) => AsyncGenerator<unknown, unknown, unknown>,
  take: Take,
): AnyMethod {
  return async function* (...args) {
    const hold = await take(this, args);
    if (!hold) return undefined;
    let source: AsyncGenerator<unknown, unknown, unknown>;
    try {
      source = hold.enter(() => original.apply(this, args));
    } catch (error) {
      await hold.end(); // a default value of a parameter threw
      throw error;
    }
    return yield* new CoveredGenerator(source, hold);
  };
}

function holdOrSkip(
  locks: LockService,
  names: readonly LockName[],
  { onBusy, hold }: ResolvedWithLockOptions,
  signal: AbortSignal | undefined,
): Promise<Hold | undefined> {
  const held = locks.hold(names, { ...hold, signal });
  if (onBusy !== 'skip') return held;
  return held.catch((error: unknown) => {
    if (!(error instanceof LockBusyError)) throw error;
    locks.events.emit('skipped', { name: names.map(({ escaped }) => escaped).join(' + ') });
    return undefined;
  });
}

type NameOption = string | readonly string[] | LockNameFunction<unknown[]>;

function namesOfCall(
  name: NameOption,
  original: AnyMethod,
  site: string,
): (self: unknown, args: unknown[]) => readonly LockName[] {
  if (typeof name === 'function') {
    return (self, args) => atSite(site, () => asNames(name.apply(self, args)));
  }
  const templates: readonly unknown[] = Array.isArray(name) ? name : [name];
  const parameters = parametersOf(original);
  const fills = templates.map((template) => {
    if (typeof template !== 'string') {
      throw new LockOptionsError(`${site}: the name must be a template, templates or a function.`);
    }
    return compileTemplate(template, parameters, site);
  });
  atSite(site, () => sortedNames(templates.map(String)));
  return (_self, args) => fills.map((fill) => fill(args));
}

function asNames(names: LockNames): readonly LockName[] {
  const list: readonly (string | LockName)[] =
    typeof names === 'string' || names instanceof LockName ? [names] : names;
  if (!Array.isArray(list)) return [LockName.of(names as string)]; // it says what is wrong with it
  return list.map((one) => LockName.of(one));
}

/** Where Nest puts the service: its description shows when Nest cannot find one. */
function serviceKeyOf(instance: string): symbol {
  const name = instance === DEFAULT_LOCK_INSTANCE ? '' : ` with name: '${instance}'`;
  return Symbol.for(`the LockService of @WithLock: import LockModule.forRoot${name}`);
}

function siteOf(target: object, property: string | symbol, name: unknown): string {
  const owner = typeof target === 'function' ? target : target.constructor;
  const shown = typeof name === 'string' ? JSON.stringify(name) : '…';
  return `@WithLock(${shown}) on ${owner.name || 'a class'}.${String(property)}`;
}

function notInjected(site: string): LockOptionsError {
  return new LockOptionsError(
    `${site}: the instance has no LockService. Nest injects it into what it creates itself, after the constructor: do not call the method from a constructor, without its "this", or on an instance of new, useValue or useFactory; in a test create the class with Test.createTestingModule.`,
  );
}

/** Adds the decorated method to the message of a caller's mistake. */
function atSite<T>(site: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof LockOptionsError) || error.message.startsWith(site)) throw error;
    throw new LockOptionsError(`${site}: ${error.message}`);
  }
}
