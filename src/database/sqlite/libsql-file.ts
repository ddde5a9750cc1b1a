import Libsql from 'libsql';
import { bindable } from '../bindable.js';
import { DatabaseUnavailableError } from '../database.errors.js';
import { translateSqliteError } from './sqlite-errors.js';
import { whileBusy } from './while-busy.js';

/** How one SQLite file is opened. */
export interface LibsqlFileOptions {
  readonly path: string;
  /** How long one attempt may block the event loop while the file is locked, in ms, at most 250. @default 20 */
  readonly busyTimeoutMs?: number;
  /** How long a locked file is tried again, in ms, without blocking. @default 5000 */
  readonly deadlineMs?: number;
}

/** What a statement gave: rows of a reader, or the number of changed rows. */
export interface LibsqlResult {
  readonly rows: unknown[];
  readonly changes: bigint | undefined;
}

const DEFAULT_BUSY_TIMEOUT_MS = 20;
const MAX_BUSY_TIMEOUT_MS = 250;
const DEFAULT_DEADLINE_MS = 5_000;

// The binding hands out blobs as ArrayBuffer, PostgreSQL as Buffer: here both become Buffer.
function normalised(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return row;
  for (const [column, value] of Object.entries(row)) {
    if (value instanceof ArrayBuffer) Object.assign(row, { [column]: Buffer.from(value) });
  }
  return row;
}

/**
 * The only place that touches the libsql binding: one connection to one file. Calls are synchronous
 * and block the event loop for their own duration. Integers come back as bigint, blobs as Buffer;
 * parameters pass `bindable`. It knows nothing of concurrency: one user at a time.
 *
 * A write outside a transaction gets its own `begin immediate`: a bare statement that fails as busy
 * stays half-open in the binding and pins its snapshot, and later writes of the connection fail.
 */
export class LibsqlFile {
  private readonly deadlineMs: number;

  private constructor(
    readonly path: string,
    private readonly connection: Libsql.Database,
    options: LibsqlFileOptions,
  ) {
    this.deadlineMs = options.deadlineMs ?? DEFAULT_DEADLINE_MS;
  }

  /** Opens or creates the file; its folder must be there. @throws DatabaseUnavailableError */
  static open(options: LibsqlFileOptions): LibsqlFile {
    const timeout = Math.min(options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS, MAX_BUSY_TIMEOUT_MS);
    try {
      const connection = new Libsql(options.path, { timeout });
      connection.defaultSafeIntegers(true);
      return new LibsqlFile(options.path, connection, options);
    } catch (error) {
      throw translateSqliteError(error, options.path);
    }
  }

  get inTransaction(): boolean {
    return this.connection.open && this.connection.inTransaction; // closed, the binding would abort
  }

  /** Begins a transaction; `immediate` takes the write lock now, so that nothing in it is busy later. */
  async begin(mode: 'deferred' | 'immediate' | 'exclusive'): Promise<void> {
    await this.execute(`begin ${mode}`);
  }

  /** Runs a statement without parameters and rows, tried again while the file is locked. */
  async execute(sql: string): Promise<void> {
    await this.guarded(() => whileBusy(this.deadlineMs, () => this.connection.exec(sql)));
  }

  /** Ends an open transaction without its writes. SQLite may have done so itself (disk full). */
  async rollback(): Promise<void> {
    if (this.inTransaction) await this.execute('rollback');
  }

  /** Runs a statement that only reads. */
  async read(sql: string, parameters: readonly unknown[]): Promise<LibsqlResult> {
    const values = bindable(parameters);
    return this.guarded(() => whileBusy(this.deadlineMs, () => this.step(sql, values)));
  }

  /** Runs a statement that may write, in the open transaction or in one of its own. */
  async write(sql: string, parameters: readonly unknown[]): Promise<LibsqlResult> {
    const values = bindable(parameters);
    if (this.inTransaction) return this.guarded(() => Promise.resolve(this.step(sql, values)));
    await this.begin('immediate');
    try {
      const result = await this.guarded(() => Promise.resolve(this.step(sql, values)));
      await this.execute('commit');
      return result;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  /** Closes the connection and frees its file locks; later calls fail. Idempotent. */
  close(): void {
    if (this.connection.open) this.connection.close();
  }

  private step(sql: string, values: unknown[]): LibsqlResult {
    const statement = this.connection.prepare(sql);
    if (statement.reader)
      return { rows: statement.all(values).map(normalised), changes: undefined };
    return { rows: [], changes: BigInt(statement.run(values).changes) };
  }

  private async guarded<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw translateSqliteError(error, this.path);
    }
  }
}

/** The error of a transaction that SQLite itself has rolled back (disk full): its handle is dead. */
export function rolledBack(path: string): DatabaseUnavailableError {
  return new DatabaseUnavailableError(
    `${path}: the transaction was rolled back by SQLite after an earlier error; none of its writes happened.`,
  );
}
