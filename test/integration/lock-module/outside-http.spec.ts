import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, type INestApplicationContext, Injectable, UseFilters } from '@nestjs/common';
import { ExternalContextCreator, NestFactory } from '@nestjs/core';
import {
  type ClientProxy,
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Transport,
} from '@nestjs/microservices';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { CapturingLogger, Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { once } from 'node:events';
import { firstValueFrom } from 'rxjs';
import { WebSocket } from 'ws';
import {
  getLockServiceToken,
  LockBusyError,
  LockExceptionFilter,
  LockModule,
  type LockService,
  MemoryLockStore,
  WithLock,
} from '../../../src/lock/index.js';
import { eventually } from '../../support/eventually.js';
import { freePort } from '../../support/free-port.js';

const busy = {
  status: 'error',
  code: 'lock_busy',
  message: expect.stringMatching(/already under way elsewhere/),
  retryAfterSeconds: expect.any(Number),
};

let store: MemoryLockStore;
let logger: CapturingLogger;
let app: INestApplicationContext;
let done: string[];

beforeEach(() => {
  store = new MemoryLockStore();
  logger = new CapturingLogger();
  done = [];
});

afterEach(() => app.close());

/** Somebody else holds the lock until the returned function is called. */
async function holdElsewhere(name: string): Promise<() => Promise<unknown>> {
  const lease = await app.get<LockService>(getLockServiceToken()).acquire(name);
  return () => lease.release();
}

@Controller()
class Worker {
  @MessagePattern('process')
  @WithLock('doc:<id>')
  async process(id: string): Promise<string> {
    return `done ${id}`;
  }

  @EventPattern('changed')
  @WithLock('doc:<id>')
  async changed(id: string): Promise<void> {
    done.push(id);
  }
}

describe('a microservice over TCP', () => {
  let client: ClientProxy;

  beforeEach(async () => {
    const options = { host: '127.0.0.1', port: await freePort() };
    const imports = [LockModule.forRoot({ store })];
    const module = await Test.createTestingModule({ imports, controllers: [Worker] }).compile();
    const service = module.createNestMicroservice({ transport: Transport.TCP, options, logger });
    app = service;
    await service.listen();
    client = ClientProxyFactory.create({ transport: Transport.TCP, options });
    await client.connect();
  });

  afterEach(() => client.close());

  const ask = (id: string) => firstValueFrom(client.send<string>('process', id));

  it('answers a message whose lock is busy with an error, and the next one with its result', async () => {
    const release = await holdElsewhere('doc:1001');
    await expect(ask('1001')).rejects.toEqual(busy);
    await release();
    expect(await ask('1001')).toBe('done 1001');
  });

  it('answers a message that cannot name a lock with an error that says nothing of the inside', async () => {
    await expect(ask('')).rejects.toEqual({
      status: 'error',
      code: 'internal_error',
      message: expect.not.stringContaining('doc:'),
    });
  });

  it('logs an event that was not handled since its lock was busy, and handles the next one', async () => {
    const release = await holdElsewhere('doc:1001');
    client.emit('changed', '1001');
    await eventually(
      () =>
        logger.filter({ level: 'warn' }).some(({ message }) => /doc:1001/.test(String(message))),
      { what: 'the warning' },
    );
    await release();
    client.emit('changed', '1001');
    await eventually(() => done.length > 0, { what: 'the second event' });
    expect(done).toEqual(['1001']);
  });
});

@WebSocketGateway({ path: '/work' })
@UseFilters(LockExceptionFilter)
class Gateway {
  @SubscribeMessage('process')
  @WithLock('doc:<id>')
  async process(_client: unknown, id: string): Promise<{ event: string; data: string }> {
    return { event: 'done', data: id };
  }
}

describe('a WebSocket gateway with LockExceptionFilter', () => {
  it('tells the client of a busy lock by the event "exception", with the message it belongs to', async () => {
    const imports = [LockModule.forRoot({ store })];
    const module = await Test.createTestingModule({ imports, providers: [Gateway] }).compile();
    const web = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
    app = web;
    web.useWebSocketAdapter(new WsAdapter(web));
    await web.listen(0, '127.0.0.1');
    const socket = new WebSocket(`${(await web.getUrl()).replace('http', 'ws')}/work`);
    const answers: unknown[] = [];
    socket.on('message', (text: Buffer) => answers.push(JSON.parse(text.toString('utf8'))));
    try {
      await once(socket, 'open');
      const ask = (id: string) => socket.send(JSON.stringify({ event: 'process', data: id }));
      const release = await holdElsewhere('doc:1001');
      ask('1001');
      await eventually(() => answers.length === 1, { what: 'the first answer' });
      await release();
      ask('1001');
      await eventually(() => answers.length === 2, { what: 'the second answer' });
      expect(answers).toEqual([
        { event: 'exception', data: { ...busy, cause: { pattern: 'process', data: '1001' } } },
        { event: 'done', data: '1001' },
      ]);
    } finally {
      socket.terminate();
    }
  });
});

@Injectable()
class Resolver {
  @WithLock('doc:<id>')
  async process(id: string): Promise<string> {
    return id;
  }
}

describe('a context of another kind, as GraphQL has', () => {
  it('gives the caller the lock error itself', async () => {
    const imports = [LockModule.forRoot({ store })];
    const providers = [Resolver];
    app = await NestFactory.createApplicationContext(
      { module: class Root {}, imports, providers },
      { logger },
    );
    const resolver = app.get(Resolver);
    const handler = app
      .get(ExternalContextCreator)
      .create(
        resolver,
        (id) => resolver.process(String(id)),
        'process',
        undefined,
        undefined,
        undefined,
        undefined,
        undefined,
        'graphql',
      );
    const release = await holdElsewhere('doc:1001');
    await expect(handler('1001')).rejects.toThrow(LockBusyError);
    await release();
    expect(await handler('1001')).toBe('1001');
  });
});
