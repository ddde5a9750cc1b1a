import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { ServerProcess } from './server-process.js';
import { ensureZookeeper } from './zookeeper-program.js';

/** A server of an ensemble. */
export interface ZookeeperServer {
  readonly port: number;
  readonly server: ServerProcess;
}

/** A real ZooKeeper ensemble on loopback ports, in a temporary directory. */
export interface ZookeeperEnsemble {
  readonly members: readonly ZookeeperServer[];
  /** `host:port,host:port` */
  readonly servers: string;
  /** The server that leads. */
  leader(): Promise<ZookeeperServer>;
  stop(): Promise<void>;
}

/** Starts an ensemble of `size` servers and waits until all of them serve. */
export async function startZookeeper(size = 1): Promise<ZookeeperEnsemble> {
  const { java, classPath } = await ensureZookeeper();
  const directory = await mkdtemp(join(tmpdir(), 'zookeeper-'));
  const numbers = Array.from({ length: size }, (_, index) => index);
  const ports = await Promise.all(numbers.map(() => [freePort(), freePort(), freePort()]).flat());
  const port = (index: number, which = 0) => ports[3 * index + which] ?? 0;
  const peers = numbers.map(
    (index) => `server.${index + 1}=127.0.0.1:${port(index, 1)}:${port(index, 2)}`,
  );
  const members = await Promise.all(
    numbers.map(async (index) => {
      const home = join(directory, `n${index}`);
      await mkdir(home);
      await writeFile(join(home, 'myid'), String(index + 1));
      await writeFile(join(home, 'zoo.cfg'), config(home, port(index), size > 1 ? peers : []));
      const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
      const flags = ['-Xmx96m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', classPath];
      const server = new ServerProcess(
        [java, ...flags, main, join(home, 'zoo.cfg')],
        home,
        async () => /^Mode: /m.test(await ask(port(index))),
      );
      return { port: port(index), server };
    }),
  );
  await Promise.all(members.map(({ server }) => server.spawn()));
  await Promise.all(members.map(({ server }) => server.ready()));
  return {
    members,
    servers: members.map((member) => `127.0.0.1:${member.port}`).join(),
    async leader() {
      for (const member of members) {
        const answer = await ask(member.port).catch(() => '');
        if (/^Mode: leader/m.test(answer)) return member;
      }
      throw new Error('no server of the ensemble leads');
    },
    async stop() {
      await Promise.all(members.map(({ server }) => server.end('SIGKILL')));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function config(home: string, port: number, peers: readonly string[]): string {
  return [
    'tickTime=500',
    'initLimit=20',
    'syncLimit=10',
    'minSessionTimeout=1000',
    'maxSessionTimeout=120000',
    `dataDir=${home}`,
    `clientPort=${port}`,
    'clientPortAddress=127.0.0.1',
    'admin.enableServer=false',
    '4lw.commands.whitelist=srvr',
    'maxClientCnxns=0',
    'forceSync=no',
    ...peers,
    '',
  ].join('\n');
}

/** What a server says of itself. */
function ask(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write('srvr'));
    socket.setTimeout(2_000, () => socket.destroy(new Error('no answer')));
    socket.on('data', (data) => (answer += data.toString()));
    socket.once('error', reject);
    socket.once('close', () => resolve(answer));
  });
}
