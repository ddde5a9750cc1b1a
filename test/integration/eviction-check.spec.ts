import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { evictionWarning } from '../../src/redis/eviction-check.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { ServiceProcess } from '../support/service-process.js';

let server: RedisServer;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.port, server.host);
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

describe('a server that evicts keys', () => {
  it.each(['allkeys-lru', 'volatile-ttl'])('is found out: %s', async (policy) => {
    await admin.config('SET', 'maxmemory-policy', policy);
    expect(await evictionWarning(admin)).toMatch(new RegExp(`${policy}.*Set it to noeviction`));
  });

  it('is told in the log when the service starts, and one that does not is not', async () => {
    await admin.config('SET', 'maxmemory-policy', 'volatile-ttl');
    await using warned = await ServiceProcess.start({ REDIS_URL: server.url });
    expect(warned.output).toContain('its maxmemory-policy is volatile-ttl');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await using content = await ServiceProcess.start({ REDIS_URL: server.url });
    expect(content.output).not.toContain('maxmemory-policy');
  });

  it('or may, since it does not say: that is told too', async () => {
    await admin.call('ACL', 'SETUSER', 'shy', 'on', '>x', '~*', '+@all', '-info');
    const shy = new Redis(server.port, server.host, {
      username: 'shy',
      password: 'x',
      enableReadyCheck: false,
    });
    expect(await evictionWarning(shy)).toMatch(/does not tell its maxmemory-policy .*NOPERM/);
    shy.disconnect();
  });
});
