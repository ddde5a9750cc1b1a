/**
 * A Nest application on Fastify with one route three times, without a lock, with one bare command, and
 * with `@WithLock`:
 * `http-main.mjs PORT_OF_REDIS`. Somebody else holds the lock all the time. Sends its own port over
 * IPC, answers what it is asked there (its CPU time, where that goes), and ends when that closes.
 */
import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Controller, HttpException, HttpStatus, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Redis } from 'ioredis';
import {
  LockManager,
  LockModule,
  redisLockClientOptions,
  RedisLockStore,
  WithLock,
} from '../../dist/lock/index.js';
import { TTL_MS } from './peers.mjs';
import { endProfile, startProfile } from './cpu-shares.mjs';
import { decorate } from './decorate.mjs';

const [, , redisPort] = process.argv;
const newClient = async () => {
  const port = Number(redisPort);
  const client = new Redis({ ...redisLockClientOptions, host: '127.0.0.1', port });
  await new Promise((resolve) => client.once('ready', resolve));
  return client;
};

const bare = await newClient();

class DocumentsController {
  async open(id) {
    return { id, state: 'ready' };
  }

  /** The least that a lock can cost: one command, and the framework's answer to an exception. */
  async asked(id) {
    const key = `lock:doc:${id}`;
    const reply = await bare.set(key, randomUUID(), 'PX', TTL_MS, 'NX');
    if (reply !== 'OK') throw new HttpException(`${key} is held`, HttpStatus.LOCKED);
    return { id, state: 'ready' };
  }

  async locked(id) {
    return { id, state: 'ready' };
  }
}
decorate(DocumentsController, 'open', [Post('open/:id/process')], [Param('id')]);
decorate(DocumentsController, 'asked', [Post('asked/:id/process')], [Param('id')]);
decorate(
  DocumentsController,
  'locked',
  [Post('locked/:id/process'), WithLock('doc:<id>')],
  [Param('id')],
);
Controller()(DocumentsController);

class AppModule {}
Module({
  imports: [LockModule.forRoot({ store: { kind: 'redis', client: await newClient() } })],
  controllers: [DocumentsController],
})(AppModule);

const holder = new LockManager({ store: new RedisLockStore({ client: await newClient() }) });
await holder.acquire('doc:held');

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ['error'] });
await app.listen(0, '127.0.0.1');
const answers = {
  cpu: () => process.cpuUsage(),
  startProfile,
  endProfile,
};
process.on('message', async (question) => {
  process.send({ answer: await answers[question]() });
});
process.send({ port: app.getHttpServer().address().port });
process.on('disconnect', () => process.exit());
