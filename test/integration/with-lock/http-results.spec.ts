import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, type INestApplication, Param, Sse, StreamableFile } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from 'nest-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { concat, NEVER, type Observable, of } from 'rxjs';
import { LockModule, LockService, WithLock } from '../../../src/lock/index.js';
import { eventually } from '../../support/eventually.js';
import { Gate } from './gate.js';

const gate = new Gate();

async function* twoParts(): AsyncGenerator<string> {
  yield 'first,';
  await gate.pass();
  yield 'second';
}

@Controller()
class Streaming {
  @Get('file/:id')
  @WithLock('doc:<_id>')
  async file(@Param('id') _id: string): Promise<StreamableFile> {
    return new StreamableFile(Readable.from(twoParts()), { type: 'text/plain' });
  }

  @WithLock('doc:<_id>')
  @Get('readable/:id')
  async readable(@Param('id') _id: string): Promise<Readable> {
    return Readable.from(twoParts());
  }

  @Get('web/:id')
  @WithLock('doc:<_id>')
  async web(@Param('id') _id: string): Promise<ReadableStream> {
    return Readable.toWeb(Readable.from(twoParts())) as ReadableStream;
  }

  @Get('response/:id')
  @WithLock('doc:<_id>')
  async response(@Param('id') _id: string): Promise<Response> {
    const body = Readable.toWeb(Readable.from(twoParts())) as ReadableStream;
    return new Response(body.pipeThrough(new TextEncoderStream()), { headers: { 'x-extra': '1' } });
  }

  @Get('generator/:id')
  @WithLock('doc:<_id>')
  async *generator(@Param('id') _id: string): AsyncGenerator<string> {
    yield* twoParts();
  }

  @WithLock('doc:<_id>')
  @Get('generator-below/:id')
  async *generatorBelow(@Param('id') _id: string): AsyncGenerator<string> {
    yield* twoParts();
  }

  @Sse('events/:id')
  @WithLock('doc:<id>')
  async events(@Param('id') id: string): Promise<Observable<{ data: string }>> {
    return concat(of({ data: id }), NEVER);
  }

  @Get('observable/:id')
  @WithLock('doc:<id>')
  async observable(@Param('id') id: string): Promise<Observable<string>> {
    return of(id);
  }
}

const adapters: [string, () => AbstractHttpAdapter][] = [
  ['Fastify', () => new FastifyAdapter({ forceCloseConnections: true })],
  ['Express', () => new ExpressAdapter()],
];

describe.each(adapters)('a locked handler on %s', (_platform, newAdapter) => {
  let app: INestApplication;
  let locks: LockService;
  let url: string;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ store: { kind: 'memory' } })],
      controllers: [Streaming],
    }).compile();
    app = module.createNestApplication(newAdapter(), {
      logger: false,
      forceCloseConnections: true,
    });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
    locks = app.get(LockService);
  });
  afterAll(() => app.close());

  const expectFree = () => eventually(async () => (await locks.inspect('doc:1')) === null);
  const kinds = ['file', 'readable', 'web', 'response', 'generator', 'generator-below'];

  it.each(kinds)('%s: holds the lock until the client has got all of it', async (kind) => {
    const answer = await fetch(`${url}/${kind}/1`);
    expect(answer.status).toBe(200);
    await gate.reached();
    expect(await locks.inspect('doc:1')).not.toBeNull();
    expect((await fetch(`${url}/${kind}/1`)).status).toBe(423);
    expect((await fetch(`${url}/observable/1`)).status).toBe(423);
    gate.release();
    expect(await answer.text()).toBe('first,second');
    await expectFree();
  });

  it.each(kinds)('%s: gives the lock back when the client goes away', async (kind) => {
    const client = new AbortController();
    await fetch(`${url}/${kind}/1`, { signal: client.signal });
    await gate.reached();
    client.abort();
    gate.release();
    await expectFree();
  });

  it('server-sent events hold it until the client goes away; who comes second gets 423', async () => {
    const client = new AbortController();
    const answer = await fetch(`${url}/events/1`, { signal: client.signal });
    const reader = answer.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toContain('data: 1');
    expect((await fetch(`${url}/events/1`)).status).toBe(423);
    client.abort();
    await expectFree();
  });

  it('an Observable answers with its last value, the lock free again', async () => {
    const answer = await fetch(`${url}/observable/1`);
    expect(await answer.text()).toBe('1');
    expect(await locks.inspect('doc:1')).toBeNull();
  });
});
