import { describe, expect, it } from '@jest/globals';
import { Turnstile } from './turnstile.js';

describe('Turnstile', () => {
  it('lets owners take turns, however many places one of them has in the queue', async () => {
    const door = new Turnstile(1);
    const order: string[] = [];
    const pass = async (name: string, owner: object) => {
      const leave = await door.enter(owner);
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
    const leaveFirst = await door.enter(long);
    await door.enter(long);
    const order: string[] = [];
    void door.enter(long).then(() => order.push('long'));
    void door.enter({}).then(() => order.push('query'));
    leaveFirst();
    leaveFirst();
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual(['query']);
  });

  it('forgets a waiter that gave up and refuses the rest when told to', async () => {
    const door = new Turnstile(1);
    const leave = await door.enter({});
    const impatient = new AbortController();
    const gone = door.enter({}, impatient.signal);
    const next = door.enter({});
    const last = door.enter({});
    impatient.abort(new Error('no time'));
    await expect(gone).rejects.toThrow('no time');
    leave();
    await next;
    door.refuseWaiters(new Error('closed'));
    await expect(last).rejects.toThrow('closed');
    await expect(door.enter({}, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  });
});
