import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryCompiler,
  type QueryResult,
  type TransactionSettings,
  IdentifierNode,
  RawNode,
  SelectQueryNode,
  createQueryId,
} from 'kysely';
import { ConnectionMutex } from './connection-mutex.js';
import { LibsqlFile, type LibsqlFileOptions, rolledBack } from './libsql-file.js';

/** How long a query waits for the one connection while transactions of the same process hold it. */
const CONNECTION_WAIT_MS = 30_000;

/** The options of the SQLite dialect. */
export interface LibsqlOptions extends LibsqlFileOptions {
  /** @default 30000 */
  readonly connectionWaitMs?: number;
}

function onlyReads(query: CompiledQuery): boolean {
  return SelectQueryNode.is(query.query) || /^\s*(?:select|pragma|explain)\b/i.test(query.sql);
}

class LibsqlConnection implements DatabaseConnection {
  /** True from begin to commit or rollback as Kysely sees it. */
  inKyselyTransaction = false;

  constructor(readonly file: LibsqlFile) {}

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    // Otherwise the rest of a dead transaction would be written, statement by statement.
    if (this.inKyselyTransaction && !this.file.inTransaction) throw rolledBack(this.file.path);
    const run = onlyReads(query) ? 'read' : 'write';
    const { rows, changes } = await this.file[run](query.sql, query.parameters);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows are what the schema says
    return { rows: rows as R[], numAffectedRows: changes };
  }

  // oxlint-disable-next-line require-yield -- the interface asks for a generator
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error(
      'Streaming is not offered on SQLite: it would hold the one connection. Read in pages instead.',
    );
  }
}

/**
 * One SQLite connection for the whole process, behind a mutex that a transaction holds from begin to
 * end. Transactions begin immediate (deferred with access mode `read only`), so they cannot fail as
 * busy half-way, nor lose an update. Isolation is serializable whatever level is asked for.
 */
export class LibsqlDriver implements Driver {
  private readonly mutex: ConnectionMutex;
  private connection: LibsqlConnection | undefined;

  constructor(private readonly options: LibsqlOptions) {
    this.mutex = new ConnectionMutex(options.connectionWaitMs ?? CONNECTION_WAIT_MS);
  }

  async init(): Promise<void> {
    await mkdir(path.dirname(this.options.path), { recursive: true });
    const file = LibsqlFile.open(this.options);
    try {
      await file.read('pragma journal_mode = wal', []);
    } catch (error) {
      file.close();
      throw error;
    }
    this.connection = new LibsqlConnection(file);
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    await this.mutex.lock();
    return this.own();
  }

  async beginTransaction(_: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    const connection = this.own();
    await connection.file.begin(settings.accessMode === 'read only' ? 'deferred' : 'immediate');
    connection.inKyselyTransaction = true;
  }

  async commitTransaction(): Promise<void> {
    const connection = this.own();
    if (!connection.file.inTransaction) throw rolledBack(connection.file.path);
    await connection.file.execute('commit');
    connection.inKyselyTransaction = false;
  }

  async rollbackTransaction(): Promise<void> {
    const connection = this.own();
    connection.inKyselyTransaction = false;
    await connection.file.rollback();
  }

  async savepoint(
    connection: DatabaseConnection,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    await this.savepointCommand(connection, 'savepoint', name, compile);
  }

  async rollbackToSavepoint(
    connection: DatabaseConnection,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    await this.savepointCommand(connection, 'rollback to', name, compile);
  }

  async releaseSavepoint(
    connection: DatabaseConnection,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    await this.savepointCommand(connection, 'release', name, compile);
  }

  async releaseConnection(): Promise<void> {
    this.mutex.unlock();
  }

  async destroy(): Promise<void> {
    await this.mutex.lock();
    this.connection?.file.close();
  }

  private own(): LibsqlConnection {
    if (this.connection === undefined) throw new Error('The SQLite driver was not initialised.');
    return this.connection;
  }

  private async savepointCommand(
    connection: DatabaseConnection,
    command: string,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    const node = RawNode.createWithChildren([
      RawNode.createWithSql(`${command} `),
      IdentifierNode.create(name),
    ]);
    await connection.executeQuery(compile(node, createQueryId()));
  }
}
