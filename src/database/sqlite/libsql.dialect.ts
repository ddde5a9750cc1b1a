import { type Driver, SqliteDialect } from 'kysely';
import { LibsqlDriver, type LibsqlOptions } from './libsql.driver.js';

/** Kysely's SQLite dialect over our one libsql adapter: see LibsqlDriver and LibsqlFile. */
export class LibsqlDialect extends SqliteDialect {
  constructor(private readonly options: LibsqlOptions) {
    super({ database: () => Promise.reject(new Error('LibsqlDialect opens its own file.')) });
  }

  override createDriver(): Driver {
    return new LibsqlDriver(this.options);
  }
}
