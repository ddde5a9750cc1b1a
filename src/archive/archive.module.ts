import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { ConversationsModule } from '../conversations/index.js';
import { Database } from '../database/index.js';
import { ScheduledJobsModule } from '../lock/schedule/index.js';
import { ArchiveController } from './archive.controller.js';
import { ArchiveTimer } from './archive-timer.js';
import { Archiver } from './archiver.js';
import { ArchivesRepository } from './archives.repository.js';
import { SqlTickMarks } from './sql-tick-marks.js';
import { TickHistory } from './tick-history.js';
import { TickLog } from './tick-log.js';

/** Moves old conversations into archives, once per tick over all replicas. */
@Module({
  imports: [
    ConversationsModule,
    ScheduleModule.forRoot(),
    ScheduledJobsModule.forRootAsync({
      inject: [Database],
      useFactory: (database: Database) => ({ marks: new SqlTickMarks(database) }),
    }),
  ],
  controllers: [ArchiveController],
  providers: [Archiver, ArchiveTimer, ArchivesRepository, TickHistory, TickLog],
})
export class ArchiveModule {}
