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
import {
  LibsqlFile,
  type LibsqlFileOptions,
  type LibsqlResult,
  rolledBack,
} from './libsql-file.js';

/** How long a write waits for the one connection that writes while transactions of the same process hold it. */
const CONNECTION_WAIT_MS = 30_000;

/** The options of the SQLite dialect. */
export interface LibsqlOptions extends LibsqlFileOptions {
  /** @default 30000 */
  readonly connectionWaitMs?: number;
}

function onlyReads(query: CompiledQuery): boolean {
  return SelectQueryNode.is(query.query) || /^\s*(?:select|pragma|explain)\b/i.test(query.sql);
}

/** The two connections to the file, and the mutex of the one that writes. */
interface OpenFile {
  readonly writer: LibsqlFile;
  readonly reader: LibsqlFile;
  readonly mutex: ConnectionMutex;
}

/** What a query or a transaction of Kysely works on: whether it needs the writer shows only at its first statement. */
class LibsqlConnection implements DatabaseConnection {
  /** True from begin to commit or rollback as Kysely sees it: it has the writer for as long. */
  private inTransaction = false;

  constructor(private readonly open: OpenFile) {}

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, changes } = await this.run(query);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows are what the schema says
    return { rows: rows as R[], numAffectedRows: changes };
  }

  // oxlint-disable-next-line require-yield -- the interface asks for a generator
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not offered on SQLite. Read in pages instead.');
  }

  async begin(mode: 'deferred' | 'immediate'): Promise<void> {
    const { writer, mutex } = this.open;
    await mutex.lock();
    try {
      await writer.begin(mode);
    } catch (error) {
      mutex.unlock();
      throw error;
    }
    this.inTransaction = true;
  }

  async commit(): Promise<void> {
    const { writer } = this.open;
    if (!writer.inTransaction) throw rolledBack(writer.path);
    await writer.execute('commit');
    this.end();
  }

  /** Does nothing where begin has failed. */
  async rollback(): Promise<void> {
    if (!this.inTransaction) return;
    try {
      await this.open.writer.rollback();
    } finally {
      this.end();
    }
  }

  private async run(query: CompiledQuery): Promise<LibsqlResult> {
    const { writer, reader, mutex } = this.open;
    const kind = onlyReads(query) ? 'read' : 'write';
    if (this.inTransaction) {
      // Otherwise the rest of a dead transaction would be written, statement by statement.
      if (!writer.inTransaction) throw rolledBack(writer.path);
      return writer[kind](query.sql, query.parameters);
    }
    if (kind === 'read') return reader.read(query.sql, query.parameters);
    await mutex.lock();
    try {
      return await writer.write(query.sql, query.parameters);
    } finally {
      mutex.unlock();
    }
  }

  private end(): void {
    this.inTransaction = false;
    this.open.mutex.unlock();
  }
}

function connected(connection: DatabaseConnection): LibsqlConnection {
  if (connection instanceof LibsqlConnection) return connection;
  throw new Error('This connection is not one of the SQLite driver.');
}

/**
 * Two SQLite connections for the whole process: one that writes, behind a mutex that a transaction holds
 * from begin to end, and one that reads what is committed, and never waits for a writer (the file is in WAL
 * mode). Transactions begin immediate (deferred with access mode `read only`), so they cannot fail as
 * busy half-way, nor lose an update. Isolation is serializable whatever level is asked for.
 */
export class LibsqlDriver implements Driver {
  private file: OpenFile | undefined;

  constructor(private readonly options: LibsqlOptions) {}

  async init(): Promise<void> {
    await mkdir(path.dirname(this.options.path), { recursive: true });
    const opened: LibsqlFile[] = [];
    const open = () => {
      const file = LibsqlFile.open(this.options);
      opened.push(file);
      return file;
    };
    try {
      const writer = open();
      await writer.read('pragma journal_mode = wal', []);
      const reader = open();
      await reader.read('pragma query_only = on', []);
      const mutex = new ConnectionMutex(this.options.connectionWaitMs ?? CONNECTION_WAIT_MS);
      this.file = { writer, reader, mutex };
    } catch (error) {
      for (const file of opened) file.close();
      throw error;
    }
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return new LibsqlConnection(this.own());
  }

  async beginTransaction(
    connection: DatabaseConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    const mode = settings.accessMode === 'read only' ? 'deferred' : 'immediate';
    await connected(connection).begin(mode);
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connected(connection).commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connected(connection).rollback();
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

  /** A transaction that was neither committed nor rolled back is undone, and gives the writer back. */
  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    await connected(connection).rollback();
  }

  async destroy(): Promise<void> {
    if (!this.file) return;
    await this.file.mutex.lock();
    this.file.reader.close();
    this.file.writer.close();
  }

  private own(): OpenFile {
    if (this.file === undefined) throw new Error('The SQLite driver was not initialised.');
    return this.file;
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
