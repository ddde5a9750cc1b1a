import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually.js';
import { aptInstall, dockerAnswers, findProgram } from '../../scripts/support/installed.mjs';

const run = promisify(execFile);
const longestCommandMs = 15 * 60_000;

/** A Docker engine, and how to give it commands. */
export class Engine {
  private constructor(
    private readonly env: NodeJS.ProcessEnv,
    private readonly composeCommand: readonly string[],
    private readonly own: OwnDaemon | null,
  ) {}

  /**
   * The engine that answers on this machine; otherwise one of its own, installed where that needs
   * nobody's leave (root, apt), with a data folder and a socket of its own. Costs up to two minutes.
   * @returns why there is none, in a sentence, where none can start
   */
  static async start(): Promise<Engine | string> {
    const own = (await dockerAnswers()) ? null : await startDaemon();
    if (typeof own === 'string') return own;
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      ...(own && { DOCKER_HOST: own.host, DOCKER_BUILDKIT: (await hasBuildx()) ? '1' : '0' }),
    };
    const compose = await findCompose(env);
    if (compose === null) {
      await own?.stop();
      return 'there is a Docker engine, but neither "docker compose" nor docker-compose.';
    }
    return new Engine(env, compose, own);
  }

  /** Runs `docker …` and gives its trimmed output. @throws with what it said */
  docker(...args: string[]): Promise<string> {
    return this.execute('docker', args);
  }

  /** Runs `docker compose …` (or docker-compose) in this project's folder. @throws with what it said */
  compose(args: readonly string[], settings: NodeJS.ProcessEnv = {}): Promise<string> {
    const [program = '', ...first] = this.composeCommand;
    return this.execute(program, [...first, ...args], settings);
  }

  /** Ends the daemon if it is our own, with all that is in it. */
  async stop(): Promise<void> {
    await this.own?.stop();
  }

  private async execute(program: string, args: string[], settings: NodeJS.ProcessEnv = {}) {
    const { stdout } = await run(program, args, {
      env: { ...this.env, ...settings },
      timeout: longestCommandMs,
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout.trim();
  }
}

interface OwnDaemon {
  readonly host: string;
  stop(): Promise<void>;
}

async function startDaemon(): Promise<OwnDaemon | string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    return 'no Docker engine answers, and only root on Linux can start one.';
  }
  if (!(await findProgram('dockerd', ['/usr/sbin']))) {
    if (!(await aptInstall('docker.io', 'docker-compose', 'iptables'))) {
      return 'no Docker engine answers, and there is no apt to install one with.';
    }
  }
  const folder = await mkdtemp(join(tmpdir(), 'engine-'));
  const host = `unix://${join(folder, 'docker.sock')}`;
  const path = (await findProgram('dockerd', ['/usr/sbin'])) ?? 'dockerd';
  const places = ['data-root', 'exec-root', 'pidfile'].flatMap((name) => [
    `--${name}`,
    join(folder, name),
  ]);
  const network = await networkState();
  const child = spawn(path, ['--host', host, ...places], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data: Buffer) => (said = (said + data.toString()).slice(-4_000)));
  const daemon = {
    host,
    async stop() {
      await stopDaemon(child, folder);
      await network.restore();
    },
  };
  try {
    await eventually(
      async () => {
        if (child.exitCode !== null) return 'ended';
        await run('docker', ['--host', host, 'version'], { timeout: 5_000 });
        return 'answers';
      },
      { timeoutMs: 60_000, everyMs: 200, what: 'dockerd' },
    );
    if (child.exitCode === null) return daemon;
  } catch {
    // What it said tells more than that it did not answer.
  }
  await daemon.stop();
  return `dockerd does not run here; it said: ${said.trim().split('\n').slice(-3).join(' ')}`;
}

async function stopDaemon(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    const grace = setTimeout(() => child.kill('SIGKILL'), 30_000);
    await gone;
    clearTimeout(grace);
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** A daemon leaves its bridge behind, and a firewall that forwards nothing: other tests would notice. */
async function networkState(): Promise<{ restore(): Promise<void> }> {
  const policy = async () => (await run('iptables', ['-S', 'FORWARD'])).stdout.split('\n')[0];
  const hasBridge = () =>
    access('/sys/class/net/docker0').then(
      () => true,
      () => false,
    );
  const [policyBefore, hadBridge] = [await policy().catch(() => undefined), await hasBridge()];
  return {
    async restore() {
      if (policyBefore?.endsWith('ACCEPT')) await run('iptables', ['-P', 'FORWARD', 'ACCEPT']);
      if (!hadBridge && (await hasBridge())) await run('ip', ['link', 'delete', 'docker0']);
    },
  };
}

/** Without the plug-in an engine cannot be asked for BuildKit. */
function hasBuildx(): Promise<boolean> {
  return run('docker', ['buildx', 'version']).then(
    () => true,
    () => false,
  );
}

async function findCompose(env: NodeJS.ProcessEnv): Promise<readonly string[] | null> {
  for (const command of [['docker', 'compose'], ['docker-compose']]) {
    const [program = '', ...first] = command;
    try {
      await run(program, [...first, 'version'], { env });
      return command;
    } catch {
      continue; // not here
    }
  }
  return (await aptInstall('docker-compose')) ? ['docker-compose'] : null;
}
