/** Where the data lives. */
export interface DatabaseOptions {
  /** The folder of the SQLite file and of the lock files; created when missing. */
  readonly dataDir: string;
  /** A PostgreSQL URL; left out or null: the SQLite file `doclock.sqlite` in `dataDir`. */
  readonly url?: string | null | undefined;
}
