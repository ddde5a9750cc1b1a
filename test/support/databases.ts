import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import { Database, type DatabaseDialect, type DatabaseOptions } from '../../src/database/index.js';
import { type PostgresServer, startPostgres } from './postgres.js';

/** What a suite that runs on both databases is given. */
export interface DatabaseFixture {
  readonly dialect: DatabaseDialect;
  /** A fresh folder and, on PostgreSQL, a fresh empty database. */
  createOptions(): Promise<DatabaseOptions>;
  /** A fresh, migrated database (or another connection to the one of `options`), closed after the test. */
  open(options?: DatabaseOptions): Promise<Database>;
  /** The running server. @throws on SQLite, which has none */
  server(): PostgresServer;
}

/** Registers `suite` twice: on SQLite, and on a real PostgreSQL server started for it. */
export function onBothDatabases(what: string, suite: (fixture: DatabaseFixture) => void): void {
  describe.each(['sqlite', 'postgres'] as const)(`${what} on %s`, (dialect) => {
    onDatabase(dialect, suite);
  });
}

/** The same on one of the databases, inside a describe block of the caller. */
export function onDatabase(
  dialect: DatabaseDialect,
  suite: (fixture: DatabaseFixture) => void,
): void {
  let postgres: PostgresServer | undefined;
  const opened: Database[] = [];
  const folders: string[] = [];

  beforeAll(async () => {
    if (dialect === 'postgres') postgres = await startPostgres();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
    await Promise.all(
      folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })),
    );
  });
  afterAll(async () => {
    await postgres?.stop();
  });

  const fixture: DatabaseFixture = {
    dialect,
    async createOptions() {
      const dataDir = await mkdtemp(join(tmpdir(), 'doclock-data-'));
      folders.push(dataDir);
      return postgres ? { dataDir, url: await postgres.createDatabase() } : { dataDir };
    },
    async open(options) {
      const database = await Database.open(options ?? (await fixture.createOptions()));
      opened.push(database);
      return database;
    },
    server() {
      if (!postgres) throw new Error('SQLite has no server.');
      return postgres;
    },
  };
  suite(fixture);
}
