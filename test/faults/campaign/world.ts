import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Database } from '../../../src/database/index.js';
import { buildClockShift, type SteppedClock } from '../../support/clock-shift.js';
import { type PostgresServer, startPostgres } from '../../support/postgres.js';
import type { ServiceEnv } from '../../support/service-process.js';
import { installAudit } from './audit.js';
import type { Breakable } from './fault.js';
import type { Journal } from './journal.js';
import { Replica } from './replica.js';
import type { StoreWorld } from './store-world.js';
import { type StoreName, stores } from './stores/index.js';
import { readTestimony, type Testimony } from './testimony.js';
import { TTL_MS } from './timing.js';

const run = promisify(execFile);

/** What a campaign runs on. */
export interface WorldOptions {
  readonly store: StoreName;
  readonly database: 'postgres' | 'sqlite';
  readonly replicas: number;
  /** Connects the replicas to the lock store past proxies, which cost time in the process that has them. */
  readonly direct?: boolean;
  /** More settings of the service. */
  readonly env?: ServiceEnv;
  /** And of one replica, numbered from 0. */
  readonly envOf?: (replica: number) => ServiceEnv;
}

/** What a replica says of itself, once a second. */
export interface Observations {
  readonly maxRss: number;
  readonly loop: { readonly p50: number; readonly p99: number; readonly max: number };
}

/** Everything that a campaign breaks, and what it looks at afterwards. */
export class World implements Breakable, AsyncDisposable {
  readonly replicas: Replica[] = [];
  store: StoreWorld;
  database: Database;
  postgres: PostgresServer | undefined;
  disk: string | undefined;
  readonly clocks: SteppedClock[] = [];
  private readonly folder: string;
  /** What is to be ended, in the reverse order of its beginning. */
  private readonly ends: (() => Promise<unknown>)[] = [];

  private constructor(
    folder: string,
    private readonly journal: Journal,
  ) {
    this.folder = folder;
    this.ends.push(() => rm(folder, { recursive: true, force: true }));
  }

  /** Starts all servers and replicas, which are ready when it resolves. Whatever fails, nothing stays behind. */
  static async start(options: WorldOptions, journal: Journal): Promise<World> {
    const world = new World(await mkdtemp(join(tmpdir(), 'campaign-')), journal);
    try {
      await world.build(options);
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  get links(): StoreWorld['links'] {
    return this.store.links;
  }

  /** What each replica has said of itself last. */
  async observations(): Promise<Record<string, Observations>> {
    const entries = this.replicas.map(async ({ name }) => {
      const text = await readFile(this.observationsOf(name), 'utf8');
      return [name, JSON.parse(text) as Observations] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  /** What the replicas' engines believed of their leases so far. */
  testimony(): Promise<Testimony[]> {
    const files = this.replicas.map(({ name }) => [name, this.testimonyOf(name)] as const);
    return readTestimony(Object.fromEntries(files));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.ends.splice(0).toReversed()) await end();
  }

  private async build(options: WorldOptions): Promise<void> {
    const { store, database, replicas, direct = false, env, envOf } = options;
    const shift = await buildClockShift();
    if (typeof shift === 'string') this.journal.skipped.push(`clock steps: ${shift}`);
    else this.ends.push(async () => shift[Symbol.asyncDispose]());
    const stepper = async () => (typeof shift === 'string' ? undefined : shift.stepper());

    if (database === 'postgres') {
      this.postgres = await startPostgres();
      this.ends.push(() => this.postgres?.stop() ?? Promise.resolve());
    }
    const url = await this.postgres?.createDatabase();
    this.store = await stores[store]({
      replicas,
      direct,
      clock: await stepper(),
      databaseUrl: url,
      journal: this.journal,
      atEnd: (end) => this.ends.push(end),
    });
    const dataDir = join(this.folder, 'data');
    await mkdir(dataDir);
    if (database === 'sqlite') await this.mountDisk(dataDir);
    this.database = await Database.open({ dataDir, ...(url !== undefined && { url }) });
    this.ends.push(() => this.database.close());
    await installAudit(this.database);
    const shared = {
      DATA_DIR: dataDir,
      ...(url !== undefined && { DATABASE_URL: url }),
      EMBED_WORKERS: '1',
      QUEUE_WAIT_MS: '20000', // less than an answer may take
      LOCK_TTL_MS: String(TTL_MS),
      LOCK_COMMAND_TIMEOUT_MS: '500',
      ARCHIVE_CRON: '*/2 * * * * *',
      ARCHIVE_AFTER_DAYS: '0',
      DEMO_STEP_DELAY_MS: '60',
      SHUTDOWN_GRACE_MS: '15000',
      ...env,
    };
    this.ends.push(() => Promise.all(this.replicas.map((replica) => replica.stop())));
    const started = Array.from({ length: replicas }, async (_, index) => {
      // In SQLite the audit's times are those of the process that writes.
      const clock = database === 'postgres' ? await stepper() : undefined;
      if (clock) this.clocks[index] = clock;
      const name = `replica-${index + 1}`;
      const own = {
        ...this.store.settings(index),
        OBSERVATIONS: this.observationsOf(name),
        TESTIMONY: this.testimonyOf(name),
        ...clock?.env,
        ...envOf?.(index),
      };
      this.replicas[index] = await Replica.start(name, { ...shared, ...own }, this.journal);
    });
    await Promise.all(started);
  }

  private async mountDisk(folder: string): Promise<void> {
    const why = await run('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', folder]).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    if (why !== undefined) {
      this.journal.skipped.push(`disk full: no small disk can be made here (${why})`);
      return;
    }
    this.disk = folder;
    this.ends.push(() => run('umount', ['-l', folder]));
  }

  private observationsOf(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  private testimonyOf(name: string): string {
    return join(this.folder, `${name}.jsonl`);
  }
}
