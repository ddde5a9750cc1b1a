import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureEtcd } from './etcd-program.js';
import { freePort } from './free-port.js';
import type { Certificates } from './certificates.js';
import { ServerProcess } from './server-process.js';

const run = promisify(execFile);

/** A member of a cluster. */
export interface EtcdMember {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly server: ServerProcess;
}

/** A real etcd cluster on loopback ports, in a temporary directory; it is fast to elect, and leases may be of one second. */
export interface EtcdCluster {
  readonly members: readonly EtcdMember[];
  readonly endpoints: readonly string[];
  /** What etcdctl prints for these arguments. @throws with what it says */
  ctl(...args: readonly string[]): Promise<string>;
  /** The TTLs that the living leases were granted, in ms. */
  leases(): Promise<readonly number[]>;
  /** The member that leads. */
  leader(): Promise<EtcdMember>;
  stop(): Promise<void>;
}

/**
 * Starts a cluster of `size` members and waits until all of them serve. With `files` they speak TLS, and
 * only with clients that show a certificate of the same authority.
 */
export async function startEtcd(size = 1, files?: Certificates): Promise<EtcdCluster> {
  const program = await ensureEtcd();
  const directory = await mkdtemp(join(tmpdir(), 'etcd-'));
  const numbers = Array.from({ length: size }, (_, index) => index);
  const ports = await Promise.all(numbers.flatMap(() => [freePort(), freePort(), freePort()]));
  const url = (index: number) => `${files ? 'https' : 'http'}://127.0.0.1:${ports[3 * index]}`;
  const peer = (index: number) => `http://127.0.0.1:${ports[3 * index + 1]}`;
  const health = (index: number) => `http://127.0.0.1:${ports[3 * index + 2]}`;
  const served = files && ['--cert-file', files.cert, '--key-file', files.key];
  const demanded = files && ['--client-cert-auth', '--trusted-ca-file', files.ca];
  const shown = files && [`--cacert=${files.ca}`, `--cert=${files.cert}`, `--key=${files.key}`];
  const ctl = async (args: readonly string[], endpoints: string) => {
    const all = [
      `--endpoints=${endpoints}`,
      '--dial-timeout=2s',
      '--command-timeout=5s',
      ...(shown ?? []),
      ...args,
    ];
    const { stdout } = await run(program.ctl, all, { env: { ...process.env, ETCDCTL_API: '3' } });
    return stdout.trim();
  };
  const members = numbers.map((index) => ({
    port: ports[3 * index] ?? 0,
    url: url(index),
    server: new ServerProcess(
      [
        program.server,
        ...['--name', `n${index}`, '--data-dir', join(directory, `n${index}`)],
        ...['--listen-client-urls', url(index), '--advertise-client-urls', url(index)],
        ...['--listen-peer-urls', peer(index), '--initial-advertise-peer-urls', peer(index)],
        ...['--initial-cluster', numbers.map((other) => `n${other}=${peer(other)}`).join()],
        ...['--listen-metrics-urls', health(index), ...(served ?? []), ...(demanded ?? [])],
        ...['--heartbeat-interval', '50', '--election-timeout', '500', '--logger', 'zap'],
      ],
      directory,
      async () => {
        const answer = await fetch(`${health(index)}/health`, {
          signal: AbortSignal.timeout(2_000),
        });
        return answer.ok && ((await answer.json()) as { health: string }).health === 'true';
      },
    ),
  }));
  await Promise.all(members.map(({ server }) => server.spawn()));
  await Promise.all(members.map(({ server }) => server.ready()));
  const endpoints = members.map((member) => member.url);
  return {
    members,
    endpoints,
    ctl: (...args) => ctl(args, endpoints.join()),
    async leases() {
      const ask = async (path: string, body: object) => {
        const answer = await fetch(`${endpoints[0]}/v3/lease/${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
        });
        return (await answer.json()) as { leases?: { ID: string }[]; grantedTTL?: string };
      };
      const { leases = [] } = await ask('leases', {});
      const infos = await Promise.all(leases.map(({ ID }) => ask('timetolive', { ID })));
      return infos.map(({ grantedTTL = 0 }) => Number(grantedTTL) * 1_000);
    },
    async leader() {
      for (const member of members) {
        const text = await ctl(['endpoint', 'status', '-w', 'json'], member.url).catch(() => '[]');
        const [{ Status: status } = {}] = JSON.parse(text) as {
          Status?: { leader: number; header: { member_id: number } };
        }[];
        if (status && status.leader === status.header.member_id) return member;
      }
      throw new Error('no member of the etcd cluster leads');
    },
    async stop() {
      await Promise.all(members.map(({ server }) => server.end('SIGKILL')));
      await rm(directory, { recursive: true, force: true });
    },
  };
}
