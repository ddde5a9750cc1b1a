import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  currentLease,
  LockBusyError,
  LockModule,
  LockOptionsError,
  LockService,
  WithLock,
} from '../../../src/lock/index.js';

@Injectable()
class Transfers {
  @WithLock(['account:<from>', 'account:<to>'])
  async transfer(from: string, to: string): Promise<(bigint | undefined)[]> {
    return [from, to].map((id) => currentLease()?.fenceOf(`account:${id}`));
  }

  @WithLock((ids: string[]) => ids.map((id) => `account:${id}`))
  async close(ids: string[]): Promise<number> {
    return ids.length;
  }
}

let app: INestApplicationContext;
let transfers: Transfers;
let locks: LockService;

beforeAll(async () => {
  const module = await Test.createTestingModule({
    imports: [LockModule.forRoot({ store: { kind: 'memory' } })],
    providers: [Transfers],
  }).compile();
  app = await module.init();
  transfers = app.get(Transfers);
  locks = app.get(LockService);
});

afterAll(() => app.close());

describe('@WithLock with several names', () => {
  it('takes them together, each with its own fence', async () => {
    const [first = 0n, second = 0n] = await transfers.transfer('1', '2');
    expect(first > 0n && second > 0n).toBe(true);
    const [later = 0n] = await transfers.transfer('1', '2');
    expect(later).toBeGreaterThan(first);
    expect(await locks.inspect('account:1')).toBeNull();
  });

  it('takes none where one is busy', async () => {
    const held = await locks.acquire('account:2');
    await expect(transfers.transfer('1', '2')).rejects.toThrow(LockBusyError);
    await expect(transfers.close(['3', '2'])).rejects.toThrow(LockBusyError);
    expect(await locks.inspect('account:1')).toBeNull();
    expect(await locks.inspect('account:3')).toBeNull();
    await held.release();
    expect(await transfers.close(['3', '2'])).toBe(2);
  });

  it('checks every name and template', async () => {
    await expect(transfers.close([])).rejects.toThrow(LockOptionsError);
    expect(() => {
      class Wrong {
        @WithLock(['account:<from>', 'account:<nobody>'])
        async transfer(from: string): Promise<string> {
          return from;
        }
      }
      return Wrong;
    }).toThrow(/nobody/);
  });
});
