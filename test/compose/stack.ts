import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { type Fetcher } from '../support/documents-client.js';
import { type Engine } from './engine.js';

/** A container of the stack. */
export interface Container {
  /** The long id; the service names itself by the first twelve digits and a random part. */
  readonly id: string;
  readonly health: string;
}

/** The compose file of this repository, running as a project of its own. */
export class Stack implements Fetcher {
  private readonly project = `doclock-check-${process.pid}`;

  private constructor(
    private readonly engine: Engine,
    private readonly folder: string,
    readonly url: string,
    private readonly port: number,
    private readonly profile: string | undefined,
  ) {}

  /**
   * Builds the image and starts everything as a user would, with `replicas` replicas.
   * @param settings what differs from the compose file in the replicas' environment
   * @param profile of the compose file
   */
  static async up(
    engine: Engine,
    replicas: number,
    settings: Readonly<Record<string, string>>,
    profile?: string,
  ): Promise<Stack> {
    const port = await freePort();
    const folder = await mkdtemp(join(tmpdir(), 'stack-'));
    const stack = new Stack(engine, folder, `http://127.0.0.1:${port}`, port, profile);
    const override = { services: { app: { environment: settings } } };
    await writeFile(stack.override, JSON.stringify(override));
    try {
      await stack.compose('up', '--build', '--detach', '--scale', `app=${replicas}`);
      await stack.healthy('front');
      await stack.served(replicas);
      return stack;
    } catch (error) {
      const logs = await stack.allLogs();
      await stack.down();
      throw new Error(`The stack did not start. It said: ${logs.slice(-8_000)}`, { cause: error });
    }
  }

  /** Ends everything and removes its containers, networks and volumes. */
  async down(): Promise<void> {
    await this.compose('down', '--volumes', '--timeout', '10');
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A request through the front, which is all that is published. */
  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.url + path, { signal: AbortSignal.timeout(60_000), ...init });
  }

  /** Waits until the front sends requests to exactly so many replicas. */
  async served(replicas: number): Promise<void> {
    await eventually(
      async () => (await (await this.fetch('/front/replicas')).text()) === `${replicas}\n`,
      { timeoutMs: 60_000, everyMs: 50, what: `the front to see ${replicas} replicas` },
    );
  }

  async containers(service: string): Promise<Container[]> {
    const filters = [
      `label=com.docker.compose.project=${this.project}`,
      `label=com.docker.compose.service=${service}`,
    ].flatMap((filter) => ['--filter', filter]);
    const ids = await this.engine.docker('ps', '--all', '--quiet', '--no-trunc', ...filters);
    return Promise.all(
      ids
        .split('\n')
        .filter(Boolean)
        .map(async (id) => ({
          id,
          health: await this.inspect(id, '{{.State.Status}} {{.State.Health.Status}}'),
        })),
    );
  }

  /** The container of the replica with this name. */
  async replica(name: string): Promise<Container> {
    const found = (await this.containers('app')).find(({ id }) => name.startsWith(id.slice(0, 12)));
    if (!found) throw new Error(`No container belongs to the replica ${name}.`);
    return found;
  }

  /** Waits until all containers of a service run and are healthy. */
  async healthy(service: string): Promise<void> {
    await eventually(
      async () => {
        const containers = await this.containers(service);
        return (
          containers.length > 0 && containers.every(({ health }) => health === 'running healthy')
        );
      },
      { timeoutMs: 120_000, everyMs: 250, what: `the service ${service} to be healthy` },
    );
  }

  inspect(id: string, format: string): Promise<string> {
    return this.engine.docker('inspect', '--format', format, id);
  }

  /** Runs a program in a container and gives its output. */
  exec(id: string, ...command: string[]): Promise<string> {
    return this.engine.docker('exec', id, ...command);
  }

  /** `kill`, `pause`, `unpause`, `start`, `restart --time 45` and the like. */
  async act(id: string, command: string, ...options: string[]): Promise<void> {
    await this.engine.docker(command, ...options, id);
  }

  /** What a container has logged. */
  logs(id: string): Promise<string> {
    return this.engine.docker('logs', id);
  }

  /** Everything the stack has logged lately, for the message of a failure. */
  allLogs(): Promise<string> {
    return this.compose('logs', '--tail', '40', '--no-color');
  }

  private get override(): string {
    return join(this.folder, 'override.json');
  }

  private compose(...args: string[]): Promise<string> {
    const files = ['--file', 'docker-compose.yml', '--file', this.override];
    const chosen = this.profile === undefined ? [] : ['--profile', this.profile];
    return this.engine.compose(['--project-name', this.project, ...files, ...chosen, ...args], {
      FRONT_PORT: String(this.port),
    });
  }
}
