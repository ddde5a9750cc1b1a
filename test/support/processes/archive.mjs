// One run of the archiver, by hand, in the built service: `{ env, stopAt }`. It says `at <step>` at each
// of its steps and stays for ever at the one that is called `stopAt`; otherwise it says `done <result>`.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../../../dist/app.module.js';
import { ArchivesRepository } from '../../../dist/archive/archives.repository.js';
import { TickLog } from '../../../dist/archive/tick-log.js';
import { resolveConfig } from '../../../dist/config/index.js';
import { ConversationsRepository } from '../../../dist/conversations/index.js';
import { ScheduledJobs } from '../../../dist/lock/schedule/index.js';

const { env, stopAt } = JSON.parse(process.argv[2]);
const app = await NestFactory.createApplicationContext(AppModule.forRoot(resolveConfig(env)), {
  logger: false,
});

/** Announces the beginning and the end of a method, and stays there if it is told to. */
function observe(type, method, step) {
  const target = app.get(type, { strict: false });
  const original = target[method].bind(target);
  target[method] = async (...args) => {
    await reach(`before ${step}`);
    const result = await original(...args);
    await reach(`after ${step}`);
    return result;
  };
}

async function reach(step) {
  process.stdout.write(`at ${step}\n`);
  if (step === stopAt) await new Promise(() => setInterval(() => undefined, 1_000));
}

observe(TickLog, 'begin', 'begin');
observe(ConversationsRepository, 'oldest', 'read');
observe(ConversationsRepository, 'remove', 'remove');
observe(ArchivesRepository, 'move', 'move');
observe(TickLog, 'ran', 'end');

const result = await app.get(ScheduledJobs).runByHand('archive');
process.stdout.write(`done ${JSON.stringify(result)}\n`);
await app.close();
