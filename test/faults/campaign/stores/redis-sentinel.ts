import { eventually } from '../../../support/eventually.js';
import { type RedisServer, startRedis } from '../../../support/redis.js';
import { startSentinel } from '../../../support/sentinel.js';
import type { StartStore } from '../store-world.js';
import { TTL_MS } from '../timing.js';
import { failovers, type MasterGroup, type Victim } from './failovers.js';
import { leftoversOn, locksOn, send } from './redis-keys.js';

/** As the documentation of the store advises: a master that is cut off refuses writes. */
const ARGS = ['--repl-diskless-sync-delay', '0', '--min-replicas-to-write', '1'];
/** Sentinel looks around every ten seconds, and for a while at a master that has come back before it acts. */
const WAIT = { timeoutMs: 90_000, everyMs: 100 };

/** LOCK_STORE=redis on the master that a Sentinel names, with two replicas. A failover may lose what came last. */
export const startSentinelWorld: StartStore = async ({ atEnd }) => {
  const start = async (...args: readonly string[]) => {
    const server = await startRedis({ args: [...ARGS, ...args] });
    atEnd(() => server.stop());
    return server;
  };
  const first = await start();
  const follow = ['--replicaof', '127.0.0.1', String(first.port)];
  const servers = [first, await start(...follow), await start(...follow)];
  const sentinel = await startSentinel(first.port);
  atEnd(() => sentinel.stop());
  const group = new SentinelGroup(servers, `redis://127.0.0.1:${sentinel.port}`);
  await group.whole();
  return {
    settings: () => ({ REDIS_SENTINELS: `127.0.0.1:${sentinel.port}` }),
    links: [],
    faults: failovers(group),
    longestLifeMs: TTL_MS,
    locks: async () => locksOn([await group.named()]),
    leftovers: async () => leftoversOn([await group.named()]),
  };
};

/** Servers of which a Sentinel decides which one is the master. */
class SentinelGroup implements MasterGroup {
  readonly what = 'master under Sentinel';

  constructor(
    private readonly servers: readonly RedisServer[],
    private readonly sentinelUrl: string,
  ) {}

  /** The server that the Sentinel names, and that says itself that it is the master. */
  named(): Promise<RedisServer> {
    const ask = async () => {
      const [, port] = await this.address();
      const named = this.servers.find((server) => server.port === Number(port));
      const [role] = named ? ((await send(named, 'ROLE')) as [string]) : [];
      return role === 'master' && named;
    };
    return eventually(ask, { ...WAIT, what: 'the Sentinel to name a master' });
  }

  async master(): Promise<Victim> {
    const server = await this.named();
    const isReplaced = async () => Number((await this.address())[1]) !== server.port;
    const what = 'the Sentinel to name another master';
    return { server, replaced: () => eventually(isReplaced, { ...WAIT, what }) };
  }

  async whole(): Promise<void> {
    const isWhole = async () => {
      const master = await this.named();
      const others = this.servers.filter((server) => server !== master);
      const known = (await this.ask('REPLICAS')) as unknown[];
      if (known.length !== others.length) return false;
      const follow = others.map(async (server) => {
        const [, , port, link] = (await send(server, 'ROLE')) as unknown[];
        return port === master.port && link === 'connected';
      });
      return (await Promise.all(follow)).every(Boolean);
    };
    const what = 'all servers to follow the master that the Sentinel names';
    await eventually(isWhole, { ...WAIT, what });
  }

  private async address(): Promise<string[]> {
    return (await this.ask('GET-MASTER-ADDR-BY-NAME')) as string[];
  }

  private ask(what: string): Promise<unknown> {
    return send({ url: this.sentinelUrl }, 'SENTINEL', what, 'mymaster');
  }
}
