// In the built service, `{ env, work, stopAt }`: deletes the document `d` (`work: "delete"`) or runs the upkeep
// of passages. It says `at <step>` at each of its steps and stays for ever at the one that is called `stopAt`;
// otherwise it says `done <result>`.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from '../../../dist/app.module.js';
import { resolveConfig } from '../../../dist/config/index.js';
import { VECTOR_STORE } from '../../../dist/documents/index.js';
import { DocumentsRepository } from '../../../dist/documents/documents.repository.js';
import { DocumentsService } from '../../../dist/documents/documents.service.js';
import { SweepMarks } from '../../../dist/documents/sweep-marks.js';
import { Upkeep } from '../../../dist/upkeep/index.js';

const { env, work, stopAt } = JSON.parse(process.argv[2]);
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

observe(DocumentsRepository, 'delete', 'commit');
observe(VECTOR_STORE, 'sweep', 'sweep');
observe(SweepMarks, 'due', 'look');
observe(SweepMarks, 'clear', 'clear');

const result =
  work === 'delete'
    ? await app.get(DocumentsService, { strict: false }).delete('d')
    : await app.get(Upkeep, { strict: false }).run('passages');
process.stdout.write(`done ${JSON.stringify(result ?? null)}\n`);
await app.close();
