import { Readable } from 'node:stream';
import {
  type ArgumentsHost,
  Body,
  Catch,
  Controller,
  type ExceptionFilter,
  HttpCode,
  HttpException,
  type INestApplication,
  Module,
  Param,
  Post,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyReply } from 'fastify';
import {
  Idempotent,
  IdempotencyModule,
  type IdempotencyStore,
} from '../../../src/idempotency/index.js';
import { translate } from '../../../src/http/index.js';
import { sendProblem } from '../../../src/http/send-problem.js';
import { type Translation } from '../../../src/http/translate.js';
import { LockModule } from '../../../src/lock/index.js';

/** What the probe has done, and what its work waits for. */
export interface ProbeState {
  runs: number;
  gate: Promise<void>;
}

export const probe: ProbeState = { runs: 0, gate: Promise.resolve() };

@Controller()
class ProbeController {
  @Post('count/:id')
  @Idempotent()
  async count(
    @Param('id') id: string,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<object> {
    probe.runs += 1;
    const n = probe.runs;
    await probe.gate;
    void reply.headers({ location: `/counts/${n}`, 'x-moment': 'now', etag: '"7"' });
    return { n, id, body: body ?? null };
  }

  @Post('required')
  @Idempotent({ required: true })
  required(): object {
    return { n: (probe.runs += 1) };
  }

  @Post('fail/:status')
  @Idempotent()
  fail(@Param('status') status: string): never {
    probe.runs += 1;
    throw new HttpException(`run ${probe.runs}`, Number(status));
  }

  @Post('fail-at-length')
  @Idempotent()
  failAtLength(): never {
    probe.runs += 1;
    throw new HttpException('x'.repeat(256 * 1024), 400);
  }

  @Post('crash')
  @Idempotent()
  crash(): never {
    probe.runs += 1;
    throw new Error('after the side effect');
  }

  @Post('empty')
  @HttpCode(204)
  @Idempotent()
  empty(): void {
    probe.runs += 1;
  }

  @Post('text')
  @HttpCode(200)
  @Idempotent()
  text(): string {
    return `run ${(probe.runs += 1)}`;
  }

  @Post('large')
  @Idempotent()
  large(): object {
    probe.runs += 1;
    return { text: 'x'.repeat(256 * 1024) };
  }

  @Post('stream')
  @Idempotent()
  stream(): StreamableFile {
    probe.runs += 1;
    return new StreamableFile(Readable.from(['a', 'b']));
  }

  @Post('raw')
  @Idempotent()
  raw(@Res({ passthrough: true }) reply: FastifyReply): void {
    probe.runs += 1;
    reply.hijack();
    reply.raw.end('raw');
  }
}

/** As the service answers, but with any status: also those for which it has no problem of its own. */
function answerOf(error: unknown): Translation {
  const answer = translate(error);
  if (!(error instanceof HttpException)) return answer;
  return { ...answer, body: { ...answer.body, status: error.getStatus() } };
}

@Catch()
class ProbeFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    sendProblem(host.switchToHttp().getResponse<FastifyReply>(), answerOf(error));
  }
}

/** A small application whose records are in `store` and whose locks are in memory. */
export async function startProbe(
  store: IdempotencyStore,
  ttlMs = 60_000,
): Promise<NestFastifyApplication> {
  @Module({
    imports: [
      LockModule.forRoot({ store: { kind: 'memory' }, exceptionFilter: false }),
      IdempotencyModule.forRootAsync({
        inject: [],
        useFactory: () => ({
          store,
          ttlMs,
          errorAnswer(error: unknown) {
            const { body } = answerOf(error);
            const headers = { 'content-type': 'application/problem+json' };
            return { status: body.status, headers, body: JSON.stringify(body) };
          },
          principal: (request) => {
            const { headers } = request as { headers: Record<string, string | undefined> };
            return headers['x-user'] ?? 'nobody';
          },
        }),
      }),
    ],
    controllers: [ProbeController],
  })
  class ProbeModule {}

  const app = await NestFactory.create<NestFastifyApplication>(ProbeModule, new FastifyAdapter(), {
    logger: false,
  });
  (app as INestApplication).useGlobalFilters(new ProbeFilter());
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return app;
}
