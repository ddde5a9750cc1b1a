import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { LockModule, LockService, MemoryLockStore, WithLock } from '../../../src/lock/index.js';
import { Gate } from './gate.js';

const gate = new Gate();

@Injectable()
class Work {
  private readonly answer = 'done';

  @WithLock('doc:<id>', { waitMs: 60_000, signal: (_id: string, signal: AbortSignal) => signal })
  async process(id: string, _signal: AbortSignal): Promise<string> {
    await gate.pass();
    return `${this.answer} ${id}`;
  }
}

describe('the signal that @WithLock finds among the arguments', () => {
  let app: TestingModule;

  beforeEach(async () => {
    const imports = [LockModule.forRoot({ store: new MemoryLockStore() })];
    app = await Test.createTestingModule({ imports, providers: [Work] }).compile();
    await app.init();
  });

  afterEach(() => app.close());

  it('ends the wait for the lock, with its reason, and leaves the work of others alone', async () => {
    const [work, locks] = [app.get(Work), app.get(LockService)];
    const lease = await locks.acquire('doc:1');
    const control = new AbortController();
    const waiting = work.process('1', control.signal);
    control.abort(new Error('nobody waits'));
    await expect(waiting).rejects.toThrow('nobody waits');
    lease.assertHeld();
    expect(gate.entered).toBe(0);
    await lease.release();
    expect(await locks.inspect('doc:1')).toBeNull();
  });

  it('does not end work that has begun', async () => {
    const control = new AbortController();
    const working = app.get(Work).process('1', control.signal);
    await gate.reached();
    control.abort();
    gate.release();
    expect(await working).toBe('done 1');
  });

  it('must be a function', () => {
    expect(() => {
      class Wrong {
        @WithLock('x', { signal: new AbortController().signal as never })
        async work(): Promise<void> {}
      }
      return Wrong;
    }).toThrow(/signal is .*; it must be a function/);
  });
});
