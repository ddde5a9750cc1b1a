import { describe, expect, it } from '@jest/globals';
import { Turnstile } from './turnstile.js';

describe('Turnstile', () => {
  it('lets owners take turns, however many places one of them has in the queue', async () => {
    const door = new Turnstile(1);
    const order: string[] = [];
    const pass = async (name: string, owner: object) => {
      const leave = await door.enter({ owner });
      order.push(name);
      await Promise.resolve();
      leave();
    };
    const long = {};
    const short = {};
    const work = (name: string, owner: object, times: number) =>
      (async () => {
        for (let i = 0; i < times; i += 1) await pass(name, owner);
      })();
    await Promise.all([work('long', long, 5), work('short', short, 3)]);
    expect(order.slice(0, 6)).toEqual(['long', 'short', 'long', 'short', 'long', 'short']);
  });

  it('gives the next slot to whoever holds the fewest', async () => {
    const door = new Turnstile(2);
    const long = {};
    const leaveFirst = await door.enter({ owner: long });
    await door.enter({ owner: long });
    const order: string[] = [];
    void door.enter({ owner: long }).then(() => order.push('long'));
    void door.enter({ owner: {} }).then(() => order.push('query'));
    leaveFirst();
    leaveFirst();
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual(['query']);
  });

  it('forgets a waiter that gave up and refuses the rest when told to', async () => {
    const door = new Turnstile(1);
    const leave = await door.enter({ owner: {} });
    const impatient = new AbortController();
    const gone = door.enter({ owner: {}, signal: impatient.signal });
    const next = door.enter({ owner: {} });
    const last = door.enter({ owner: {} });
    impatient.abort(new Error('no time'));
    await expect(gone).rejects.toThrow('no time');
    leave();
    await next;
    door.refuseWaiters(new Error('closed'));
    await expect(last).rejects.toThrow('closed');
    await expect(
      door.enter({ owner: {}, signal: AbortSignal.abort(new Error('late')) }),
    ).rejects.toThrow('late');
  });

  it('lets urgent ones go first, and the others have every fourth slot', async () => {
    const door = new Turnstile(1);
    const leave = await door.enter({ owner: {} });
    const order: string[] = [];
    const pass = async (name: string, isUrgent: boolean) => {
      const end = await door.enter({ owner: {}, isUrgent });
      order.push(name);
      await Promise.resolve();
      end();
    };
    const documents = Array.from({ length: 3 }, () => pass('document', false));
    const queries = Array.from({ length: 5 }, () => pass('query', true));
    leave();
    await Promise.all([...documents, ...queries]);
    const three = ['query', 'query', 'query'];
    expect(order).toEqual([...three, 'document', 'query', 'query', 'document', 'document']);
  });
});
