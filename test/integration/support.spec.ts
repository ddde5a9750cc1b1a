import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { type RedisServer, startRedis } from '../support/redis.js';

const closed = /closed|ECONNREFUSED|ECONNRESET|max retries/i;

describe('the servers and faults that tests stand on', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let direct: Redis;

  beforeAll(async () => {
    server = await startRedis();
    proxy = await FaultProxy.start(server);
    direct = new Redis(server.url, { retryStrategy: () => 50, disconnectTimeout: 100 });
  });

  afterAll(async () => {
    direct.disconnect();
    await proxy.close();
    await server.stop();
  });

  const viaProxy = () => {
    const client = new Redis({
      host: '127.0.0.1',
      port: proxy.port,
      commandTimeout: 200,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 20,
      disconnectTimeout: 100,
    });
    client.on('error', () => {});
    return client;
  };

  it('forwards, drops replies but not requests, and behaves again', async () => {
    const client = viaProxy();
    await client.set('a', '1');
    proxy.dropReplies();
    await expect(client.set('a', '2')).rejects.toThrow('timed out');
    expect(await direct.get('a')).toBe('2');
    proxy.blackHole();
    await expect(client.set('a', '3')).rejects.toThrow('timed out');
    expect(await direct.get('a')).toBe('2');
    await proxy.pass();
    proxy.resetConnections();
    await eventually(() => client.set('a', '4'));
    client.disconnect();
  });

  it('drops one reply and cuts the connection after the server did the work', async () => {
    const client = viaProxy();
    await client.set('b', '1');
    const happened = proxy.dropNextReplyThenCut();
    await expect(client.set('b', '2')).rejects.toThrow(closed);
    await happened;
    expect(await direct.get('b')).toBe('2');
    await eventually(() => client.get('b'));
    client.disconnect();
  });

  it('refuses connections and listens again on the same port', async () => {
    const client = viaProxy();
    await client.ping();
    const { port } = proxy;
    await proxy.refuse();
    await expect(client.ping()).rejects.toThrow(closed);
    await proxy.pass();
    expect(proxy.port).toBe(port);
    await eventually(() => client.ping());
    client.disconnect();
  });

  it('delays', async () => {
    const client = viaProxy();
    await client.ping();
    proxy.addLatency(60);
    const startedAt = performance.now();
    await client.ping();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(118);
    await proxy.pass();
    client.disconnect();
  });

  it('lets nothing overtake on one connection when the latency falls', async () => {
    const client = viaProxy();
    await client.ping();
    proxy.addLatency(60);
    const first = client.set('first', 'x');
    await eventually(async () => (await direct.exists('first')) === 1); // its reply is on the way
    proxy.addLatency(0);
    expect(await Promise.all([first, client.echo('second')])).toEqual(['OK', 'second']);
    client.disconnect();
  });

  it('freezes, kills and restarts a server', async () => {
    const client = viaProxy();
    await client.ping();
    await server.pause();
    await expect(client.ping()).rejects.toThrow('timed out');
    await server.resume();
    await eventually(() => client.ping());
    await server.kill();
    await expect(client.ping()).rejects.toThrow(closed);
    await server.restart();
    await eventually(() => client.ping());
    client.disconnect();
  });
});
