import { Global, Module } from '@nestjs/common';
import { type DatabaseOptions } from './database-options.js';
import { Database } from './database.js';
import { DATABASE_OPTIONS, DatabaseModuleClass } from './database.module-definition.js';

/**
 * Gives `Database` to the whole application: `DatabaseModule.forRoot({ dataDir, url? })` or
 * `forRootAsync`. The application does not start before the migrations are through, and closes the
 * database last.
 */
@Global()
@Module({
  providers: [
    {
      provide: Database,
      inject: [DATABASE_OPTIONS],
      useFactory: (options: DatabaseOptions) => Database.open(options),
    },
  ],
  exports: [Database],
})
export class DatabaseModule extends DatabaseModuleClass {}
