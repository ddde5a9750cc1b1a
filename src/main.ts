import { type LoggerService } from '@nestjs/common';
import { readCommandLine } from './command-line.js';
import { type AppConfig, loadConfig } from './config/index.js';
import { createApp } from './create-app.js';
import { accessNotice } from './http/index.js';
import { listen } from './listen.js';
import { ServiceLogger } from './service-logger.js';

// How much longer than the drain the rest of the shutdown may take before the process ends by force.
const closingMs = 5_000;

async function start(): Promise<void> {
  const config = loadConfig();
  const logger = new ServiceLogger(config);
  const app = await createApp(config, logger);
  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    const { shutdownDelayMs, shutdownGraceMs } = config.http;
    logger.log(`${signal}: leaving; what is under way may end.`);
    setTimeout(
      () => {
        logger.error('The shutdown did not end in time; ending by force.');
        process.exit(1);
      },
      shutdownDelayMs + shutdownGraceMs + closingMs,
    ).unref();
    await app.close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop(signal).catch((error: unknown) => fail('did not stop as it should', error));
    });
  }
  await listen(app, config.http);
  announce(logger, config, await app.getUrl());
}

function announce(logger: LoggerService, config: AppConfig, url: string): void {
  logger.log(`${config.instanceId} listens on ${url}.`);
  const notice = accessNotice(config);
  if (notice !== undefined) logger.warn(notice);
  if (config.lock.store === 'memory') {
    logger.log(
      'Locks live in this process only (LOCK_STORE=memory). Set REDIS_URL to share them between processes.',
    );
  }
}

/** Expected errors say what to do; their stack would only hide it. */
function fail(what: string, error: unknown): void {
  const expected = error instanceof Error && 'code' in error;
  const text = expected ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`The service ${what}: ${text}\n`);
  process.exit(1);
}

const printed = readCommandLine(process.argv.slice(2));
if (printed) {
  (printed.isMistake ? process.stderr : process.stdout).write(`${printed.text}\n`);
  process.exitCode = printed.isMistake ? 2 : 0;
} else {
  start().catch((error: unknown) => fail('did not start', error));
}
