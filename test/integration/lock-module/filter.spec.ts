import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type ArgumentsHost,
  Controller,
  Get,
  HttpException,
  type INestApplication,
  Param,
} from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import { ExpressAdapter } from 'nest-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import {
  LockBusyError,
  LockError,
  LockExceptionFilter,
  LockLostError,
  LockModule,
  LockOptionsError,
  lockProblem,
  LockReentryError,
  LockService,
  LockUnavailableError,
  LockWaitTimeoutError,
  WithLock,
} from '../../../src/lock/index.js';

const name = 'doc:secret-name';
const errors: Record<string, Error> = {
  busy: new LockBusyError(name, 30_000, 0),
  soon: new LockBusyError(name, 30_000, 1_200),
  capped: new LockBusyError(name, 2_500, 90_000),
  free: new LockBusyError(name, 0, 0),
  foreign: new LockBusyError(name, undefined, 4_001),
  waited: new LockWaitTimeoutError(name, 10_000, 5_000, 700),
  unavailable: new LockUnavailableError(name, 'READONLY'),
  lost: new LockLostError(name, 'EXPIRED'),
  reentry: new LockReentryError(name),
  options: new LockOptionsError('ttlMs is 1'),
};

const expected: Record<string, [status: number, code: string, retryAfter: string | undefined]> = {
  busy: [423, 'lock_busy', '1'],
  soon: [423, 'lock_busy', '2'],
  capped: [423, 'lock_busy', '3'],
  free: [423, 'lock_busy', '1'],
  foreign: [423, 'lock_busy', '5'],
  waited: [423, 'lock_wait_timeout', '5'],
  unavailable: [503, 'lock_unavailable', '1'],
  lost: [503, 'lease_lost', '1'],
  reentry: [500, 'internal_error', undefined],
  options: [500, 'internal_error', undefined],
};

@Controller()
class Failing {
  @Get('fail/:what')
  fail(@Param('what') what: string): never {
    throw errors[what] ?? new HttpException('other', 418);
  }

  @Get('locked/:id')
  @WithLock('doc:<id>')
  async locked(@Param('id') id: string): Promise<string> {
    return id;
  }
}

const adapters: [string, () => AbstractHttpAdapter][] = [
  ['Fastify', () => new FastifyAdapter()],
  ['Express', () => new ExpressAdapter()],
];

describe.each(adapters)('LockExceptionFilter on %s', (_platform, newAdapter) => {
  let app: INestApplication;
  const logged = jest.fn();

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [LockModule.forRoot({ store: { kind: 'memory' } })],
      controllers: [Failing],
    }).compile();
    app = module.createNestApplication(newAdapter(), {
      logger: { error: logged, warn: () => {}, log: () => {} },
    });
    await app.listen(0, '127.0.0.1');
  });
  afterAll(() => app.close());

  const get = (path: string) => request(app.getHttpServer()).get(path);

  it.each(Object.keys(errors))('answers %s', async (what) => {
    logged.mockClear();
    const answer = await get(`/fail/${what}`);
    const [status, code, retryAfter] = expected[what] ?? [];
    expect(answer.status).toBe(status);
    expect(answer.headers['retry-after']).toBe(retryAfter);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(answer.body).toEqual({
      type: 'about:blank',
      title: expect.any(String),
      detail: expect.any(String),
      status,
      code,
    });
    expect(answer.text).not.toContain('secret-name');
    expect(answer.text).not.toContain('ttlMs');
    expect(logged).toHaveBeenCalledTimes(status === 500 ? 1 : 0);
  });

  it('covers every kind of lock error', () => {
    const codes = new Set(Object.values(errors).map((error) => (error as LockError).code));
    expect(codes.size).toBe(6);
  });

  it('leaves other errors alone', async () => {
    expect((await get('/fail/else')).status).toBe(418);
    expect(lockProblem(new Error('else'))).toBeUndefined();
    expect(lockProblem(undefined)).toBeUndefined();
  });

  it('answers a busy lock of a decorated handler', async () => {
    const lease = await app.get(LockService).acquire('doc:1');
    const busy = await get('/locked/1');
    expect(busy.status).toBe(423);
    expect(busy.body).toMatchObject({ code: 'lock_busy', status: 423 });
    await lease.release();
    expect((await get('/locked/1')).text).toBe('1');
  });

  it('lets the error go on where it knows no form of answer', () => {
    const filter = new LockExceptionFilter(app.get(HttpAdapterHost));
    const host = { getType: () => 'graphql' } as unknown as ArgumentsHost;
    expect(() => filter.catch(new LockBusyError(name, 1, 1), host)).toThrow(LockBusyError);
  });
});
