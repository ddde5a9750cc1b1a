import { describe, expect, it } from '@jest/globals';
import { SetMetadata } from '@nestjs/common';
import { type Observable, of } from 'rxjs';
import {
  DEFAULT_LOCK_OPTIONS,
  lockName,
  LockOptionsError,
  WithLock,
  type WithLockOptions,
} from '../../../src/lock/index.js';

/** What a decorator of somebody else does who does not care for parameter names. */
function Wrapped(_target: object, _key: string, descriptor: PropertyDescriptor): void {
  const original = descriptor.value as (...args: unknown[]) => unknown;
  descriptor.value = (...args: unknown[]) => original(...args);
}

function define(name: string, options?: WithLockOptions): () => unknown {
  return () => {
    class Docs {
      @WithLock(name, options)
      async process(id: string, { title }: { title: string }): Promise<string> {
        return id + title;
      }
    }
    return Docs;
  };
}

describe('defining a class with @WithLock', () => {
  it.each<[string, RegExp]>([
    ['doc:<missing>', /<missing> names no parameter/],
    ['doc:<title>', /destructured/],
    ['doc:<id', /no ">"/],
    ['', /must not be empty/],
    ['<id><id>', /there must be a ":"/],
  ])('refuses the template %p', (template, message) => {
    expect(define(template)).toThrow(LockOptionsError);
    expect(define(template)).toThrow(message);
    expect(define(template)).toThrow('on Docs.process');
  });

  it('refuses a placeholder that another decorator hides, and points to the function form', () => {
    const hidden = () => {
      class Docs {
        @WithLock('doc:<id>')
        @Wrapped
        async process(id: string): Promise<string> {
          return id;
        }
      }
      return Docs;
    };
    expect(hidden).toThrow(/another decorator has already wrapped it.*below.*@WithLock\(\(/);
  });

  it('does not mind a decorator that wraps above it, or that only marks', () => {
    const fine = () => {
      class Docs {
        @Wrapped
        @WithLock('doc:<id>')
        @SetMetadata('a', 1)
        async process(id: string): Promise<string> {
          return id;
        }
      }
      return Docs;
    };
    expect(fine).not.toThrow();
  });

  it.each<[object, RegExp]>([
    [{ ttlMs: 99 }, /ttlMs is 99/],
    [{ ttlMs: '5s' }, /ttlMs is 5s/],
    [{ waitMs: -1 }, /waitMs is -1/],
    [{ waitMs: Infinity }, /waitMs is Infinity/],
    [{ maxHoldMs: 0 }, /maxHoldMs is 0/],
    [{ onBusy: 'ignore' }, /onBusy is ignore/],
    [{ reentrant: 1 }, /reentrant is 1/],
    [{ instance: '' }, /instance is/],
    [{ retries: 3 }, /"retries" is no option/],
  ])('refuses the options %j', (options, message) => {
    expect(define('doc:<id>', options)).toThrow(LockOptionsError);
    expect(define('doc:<id>', options)).toThrow(message);
    expect(define('doc:<id>', options)).toThrow('on Docs.process');
  });

  it('takes every option within its bounds', () => {
    const options = { ...DEFAULT_LOCK_OPTIONS, maxHoldMs: Infinity, onBusy: 'throw' } as const;
    const { commandTimeoutMs: _only, ...rest } = options;
    expect(define('doc:<id>', { ...rest, reentrant: true, instance: 'jobs' })).not.toThrow();
  });

  it('refuses static methods', () => {
    const statically = () => {
      class Docs {
        @WithLock('doc:<id>')
        static async process(id: string): Promise<string> {
          return id;
        }
      }
      return Docs;
    };
    expect(statically).toThrow(/methods of instances only/);
  });

  it('keeps what others have put on the method before and after', () => {
    class Docs {
      @SetMetadata('after', 2)
      @WithLock('doc:<id>')
      @SetMetadata('before', 1)
      async process(id: string): Promise<string> {
        return id;
      }
    }
    const process = Object.getOwnPropertyDescriptor(Docs.prototype, 'process')?.value as object;
    expect(Reflect.getMetadata('before', process)).toBe(1);
    expect(Reflect.getMetadata('after', process)).toBe(2);
  });
});

/** Checked by the compiler: each expected error must be one. */
class Types {
  @WithLock('job')
  async nothing(): Promise<void> {}

  @WithLock('job', { onBusy: 'skip' })
  async cron(): Promise<void> {}

  @WithLock('job', { onBusy: 'skip' })
  async maybe(): Promise<number | undefined> {
    return 1;
  }

  @WithLock('doc:<id>')
  async *generate(id: string): AsyncGenerator<string, void, number> {
    yield id;
  }

  @WithLock('doc:<id>')
  async observable(id: string): Promise<Observable<string>> {
    return of(id);
  }

  @WithLock((id: string) => lockName`doc:${id}`)
  async fewer(id: string, _more: number): Promise<string> {
    return id;
  }

  @WithLock((id: string, version: number) => lockName`doc:${id}:${version}`)
  async all(id: string, _version: number): Promise<string> {
    return id;
  }

  // @ts-expect-error a method that answers at once cannot wait for a lock
  @WithLock('doc:<id>')
  sync(id: string): string {
    return id;
  }

  // @ts-expect-error neither can one that gives nothing
  @WithLock('job')
  syncNothing(): void {}

  // @ts-expect-error its callers would get a promise of the Observable
  @WithLock('doc:<id>')
  syncObservable(id: string): Observable<string> {
    return of(id);
  }

  // @ts-expect-error the name is computed from a number, the method takes a string
  @WithLock((id: number) => lockName`doc:${id}`)
  async otherArguments(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error the name function takes more than the method
  @WithLock((id: string, version: number) => lockName`doc:${id}:${version}`)
  async tooMany(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error a skipped call gives undefined
  @WithLock('doc:<id>', { onBusy: 'skip' })
  async never(id: string): Promise<string> {
    return id;
  }

  // @ts-expect-error an object cannot name a lock
  @WithLock((dto: { id: string }) => lockName`doc:${dto}`)
  async object(dto: { id: string }): Promise<string> {
    return dto.id;
  }
}

it('compiles for results that come later, and for no others', () => {
  expect(Object.getOwnPropertyNames(Types.prototype)).toContain('syncObservable');
});
