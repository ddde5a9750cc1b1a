import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, type INestApplicationContext, Scope } from '@nestjs/common';
import { ContextIdFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  currentLease,
  LockBusyError,
  LockModule,
  LockOptionsError,
  LockReentryError,
  LockService,
  WithLock,
} from '../../../src/lock/index.js';
import { Gate } from './gate.js';

const gate = new Gate();
const TENANT = Symbol('tenant');

@Injectable()
class Base {
  constructor(@Inject(TENANT) readonly tenant: string) {}

  @WithLock('doc:<id>')
  async process(id: string): Promise<string> {
    return `base ${this.tenant} ${id} ${currentLease()?.name}`;
  }

  @WithLock('doc:<id>')
  async hold(id: string): Promise<string> {
    await gate.pass();
    return id;
  }

  async plain(id: string): Promise<string | undefined> {
    return `${id} ${currentLease()?.name}`;
  }
}

/** Overrides without a lock of its own; the base's lock is taken inside. */
@Injectable()
class Override extends Base {
  override async process(id: string): Promise<string> {
    return `override(${currentLease()?.name}) > ${await super.process(id)}`;
  }
}

/** Another lock around the base's. */
@Injectable()
class OwnLock extends Base {
  @WithLock('own:<id>')
  override async process(id: string): Promise<string> {
    return `${currentLease()?.name} > ${await super.process(id)}`;
  }

  @WithLock('plain:<id>')
  override async plain(id: string): Promise<string | undefined> {
    return super.plain(id);
  }
}

/** The same lock as the base's: a mistake, unless shared. */
@Injectable()
class SameLock extends Base {
  @WithLock('doc:<id>')
  override async process(id: string): Promise<string> {
    return super.process(id);
  }
}

@Injectable()
class SharedLock extends Base {
  @WithLock('doc:<_id>', { reentrant: true })
  async again(_id: string): Promise<bigint | undefined> {
    return currentLease()?.fence;
  }

  @WithLock('doc:<id>')
  async twice(id: string): Promise<boolean> {
    const outer = currentLease()?.fence;
    return outer === (await this.again(id)) && outer === currentLease()?.fence;
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  static count = 0;
  private readonly number = (PerRequest.count += 1);

  @WithLock((id: string) => `request:${id}`)
  async process(id: string): Promise<string> {
    return `${this.number} ${id} ${currentLease()?.name}`;
  }
}

@Injectable({ scope: Scope.TRANSIENT })
class Transient {
  @WithLock(function (this: Transient) {
    return `transient:${this.kind}`;
  })
  async process(): Promise<string | undefined> {
    return currentLease()?.name;
  }
  readonly kind = 'x';
}

@Injectable()
class ImpatientConstructor {
  readonly early = this.process('1').catch((error: unknown) => error);

  @WithLock('doc:<id>')
  async process(id: string): Promise<string> {
    return id;
  }
}

describe('@WithLock and classes', () => {
  let app: INestApplicationContext;
  let locks: LockService;

  beforeAll(async () => {
    app = await Test.createTestingModule({
      imports: [LockModule.forRoot({ store: { kind: 'memory' } })],
      providers: [
        { provide: TENANT, useValue: 'acme' },
        { provide: 'second base', useClass: Base },
        { provide: 'from factory', inject: [], useFactory: () => new Base('made by hand') },
        ...[Base, Override, OwnLock, SameLock, SharedLock],
        ...[PerRequest, Transient, ImpatientConstructor],
      ],
    }).compile();
    await app.init();
    locks = app.get(LockService);
  });
  afterAll(() => app.close());

  it('keeps this and what was injected', async () => {
    expect(await app.get(Base).process('1')).toBe('base acme 1 doc:1');
  });

  it('locks in an inherited method, and through super', async () => {
    expect(await app.get(SharedLock).process('1')).toBe('base acme 1 doc:1');
    expect(await app.get(Override).process('1')).toBe('override(undefined) > base acme 1 doc:1');
    expect(await app.get(OwnLock).process('1')).toBe('own:1 > base acme 1 doc:1');
  });

  it('leaves methods of the base alone that only the subclass locks', async () => {
    expect(await app.get(OwnLock).plain('1')).toBe('1 plain:1');
    expect(await app.get(Base).plain('1')).toBe('1 undefined');
  });

  it('fails at once where super takes the same lock, and shares it where asked to', async () => {
    await expect(app.get(SameLock).process('1')).rejects.toThrow(LockReentryError);
    expect(await app.get(SharedLock).twice('1')).toBe(true);
    expect(await locks.inspect('doc:1')).toBeNull();
  });

  it('excludes two instances of one class, and of base and subclass', async () => {
    const first = app.get(Base).hold('1');
    await gate.reached();
    await expect(app.get<Base>('second base').hold('1')).rejects.toThrow(LockBusyError);
    await expect(app.get(Override).hold('1')).rejects.toThrow(LockBusyError);
    gate.release();
    expect(await first).toBe('1');
  });

  it('works on request-scoped and transient providers', async () => {
    const [one, two] = await Promise.all(
      [1, 2].map(() => app.resolve(PerRequest, ContextIdFactory.create())),
    );
    expect(await one?.process('a')).toBe('1 a request:a');
    expect(await two?.process('a')).toBe('2 a request:a');
    expect(await (await app.resolve(Transient)).process()).toBe('transient:x');
  });

  it.each([
    ['of new', () => new Base('x').process('1')],
    ['of a factory', () => app.get<Base>('from factory').process('1')],
    [
      'whose constructor calls it',
      () => app.get(ImpatientConstructor).early.then((e) => Promise.reject(e)),
    ],
    [
      'that it was taken from',
      () => {
        const process = Object.getOwnPropertyDescriptor(Base.prototype, 'process')
          ?.value as Base['process'];
        return Reflect.apply(process, undefined, ['1']);
      },
    ],
  ])('says what is missing to an instance %s', async (_what, call) => {
    await expect(call()).rejects.toThrow(LockOptionsError);
    await expect(call()).rejects.toThrow(
      /on (Base|ImpatientConstructor)\.process: the instance has no LockService/,
    );
  });
});
