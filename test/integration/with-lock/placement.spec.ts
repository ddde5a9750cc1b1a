import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  Scope,
  UseGuards,
} from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import {
  currentLease,
  LockModule,
  lockName,
  LockService,
  WithLock,
} from '../../../src/lock/index.js';
import { eventually } from '../../support/eventually.js';
import { Gate } from './gate.js';

const gate = new Gate();

@Injectable()
class OnlyFriends implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return (
      context.switchToHttp().getRequest<{ headers: Record<string, unknown> }>().headers[
        'x-friend'
      ] !== undefined
    );
  }
}

class Dto {
  id: string;
}

@Controller('above')
class AboveController {
  private readonly prefix = 'above';

  @WithLock('doc:<id>')
  @Post('docs/:id')
  @HttpCode(202)
  @Header('x-extra', 'kept')
  @UseGuards(OnlyFriends)
  async process(@Param('id', ParseIntPipe) id: number, @Body() dto: Dto): Promise<string> {
    await gate.pass();
    return `${this.prefix} ${id} ${dto?.id} ${currentLease()?.name}`;
  }
}

@Controller('below')
class BelowController {
  private readonly prefix = 'below';

  @Post('docs/:id')
  @HttpCode(202)
  @Header('x-extra', 'kept')
  @UseGuards(OnlyFriends)
  @WithLock('doc:<id>')
  async process(@Param('id', ParseIntPipe) id: number, @Body() dto: Dto): Promise<string> {
    await gate.pass();
    return `${this.prefix} ${id} ${dto?.id} ${currentLease()?.name}`;
  }
}

@Controller({ path: 'scoped', scope: Scope.REQUEST })
class ScopedController {
  static instances = 0;
  constructor() {
    ScopedController.instances += 1;
  }

  @Post('docs/:id')
  @WithLock((id: string) => lockName`doc:${id}`)
  async process(@Param('id') id: string): Promise<string> {
    await gate.pass();
    return `scoped ${id} ${currentLease()?.name}`;
  }

  @Get('instances')
  count(): number {
    return ScopedController.instances;
  }
}

@Injectable()
class Jobs {
  readonly leases: Record<string, (string | undefined)[]> = { above: [], below: [] };

  @WithLock('cron:above', { onBusy: 'skip' })
  @Cron('* * * * * *', { name: 'above' })
  async above(): Promise<void> {
    this.leases['above']?.push(currentLease()?.name);
  }

  @Cron('* * * * * *', { name: 'below' })
  @WithLock('cron:below', { onBusy: 'skip' })
  async below(): Promise<void> {
    this.leases['below']?.push(currentLease()?.name);
  }
}

describe('@WithLock beside other decorators', () => {
  let app: NestFastifyApplication;
  let locks: LockService;

  beforeAll(async () => {
    const module = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), LockModule.forRoot({ store: { kind: 'memory' } })],
      controllers: [AboveController, BelowController, ScopedController],
      providers: [Jobs],
    }).compile();
    app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), {
      logger: ['error'],
    });
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    locks = app.get(LockService);
  });

  afterAll(() => app.close());
  beforeEach(() => {
    gate.entered = 0;
  });

  const post = (path: string) =>
    request(app.getHttpServer()).post(path).set('x-friend', 'yes').send({ id: 'x' });

  it.each(['above', 'below'])(
    '%s: route, status, header, guard, pipe, body, this',
    async (path) => {
      const [answer] = await Promise.all([
        post(`/${path}/docs/7`).then((response) => response),
        gate.reached().then(() => gate.release()),
      ]);
      expect(answer.status).toBe(202);
      expect(answer.headers['x-extra']).toBe('kept');
      expect(answer.text).toBe(`${path} 7 x doc:7`);
      const stranger = await request(app.getHttpServer()).post(`/${path}/docs/7`);
      expect(stranger.status).toBe(403);
      expect((await post(`/${path}/docs/seven`)).status).toBe(400);
      expect(gate.entered).toBe(1);
    },
  );

  it.each(['above', 'below', 'scoped'])(
    '%s: the lock is held during the work, excludes others, and is free after it',
    async (path) => {
      const first = post(`/${path}/docs/8`).then((response) => response);
      await gate.reached();
      expect((await locks.inspect('doc:8'))?.holder).not.toBeNull();
      const second = await post(`/${path}/docs/8`);
      expect(second.status).toBe(423);
      expect(second.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expect(gate.entered).toBe(1);
      const other = post(`/${path}/docs/9`).then((response) => response);
      await eventually(() => gate.entered === 2);
      gate.release();
      expect([(await first).status, (await other).status]).not.toContain(423);
      expect(await locks.inspect('doc:8')).toBeNull();
      expect(await locks.inspect('doc:9')).toBeNull();
    },
  );

  it('makes a request-scoped controller anew for each request', async () => {
    const { text } = await request(app.getHttpServer()).get('/scoped/instances');
    expect(Number(text)).toBeGreaterThan(1);
  });

  it.each(['above', 'below'])('%s @Cron: every tick runs under its lock', async (place) => {
    const { leases } = app.get(Jobs);
    await eventually(() => (leases[place]?.length ?? 0) >= 2);
    expect(new Set(leases[place])).toEqual(new Set([`cron:${place}`]));
  });

  it.each(['above', 'below'] as const)('%s @Cron: a busy lock skips and counts', async (place) => {
    const skipped: string[] = [];
    const stop = locks.events.on('skipped', ({ name }) => skipped.push(name));
    const name = `cron:${place}`;
    const lease = await locks.acquire(name, { waitMs: 5_000 });
    const runs = app.get(Jobs).leases[place]?.length;
    expect(await app.get(Jobs)[place]()).toBeUndefined();
    await eventually(() => skipped.filter((entry) => entry === name).length >= 2, {
      what: 'a tick that is skipped',
    });
    expect(app.get(Jobs).leases[place]).toHaveLength(runs ?? -1);
    await lease.release();
    stop();
  });

  it('keeps the name and the length of the method', () => {
    for (const controller of [AboveController, BelowController]) {
      const property = Object.getOwnPropertyDescriptor(controller.prototype, 'process');
      expect(property?.value).toHaveProperty('name', 'process');
      expect(property?.value).toHaveLength(2);
    }
  });
});
