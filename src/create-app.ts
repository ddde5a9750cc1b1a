import 'reflect-metadata';
import { type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { type AppConfig } from './config/index.js';
import { configureHttp, createAdapter } from './http/index.js';

/**
 * The application as it runs, for `main.ts` and for tests: everything but listening.
 * @throws whatever keeps a part from starting; it never ends the process
 */
export async function createApp(
  config: AppConfig,
  logger: LoggerService | false,
): Promise<NestFastifyApplication> {
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config),
    createAdapter(config),
    { bodyParser: false, abortOnError: false, logger },
  );
  await configureHttp(app);
  return app;
}
