import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveConfig } from '../../src/config/index.js';
import { createApp } from '../../src/create-app.js';

/** The whole application inside the test's process, listening on a free loopback port. */
export interface TestApp extends AsyncDisposable {
  readonly app: NestFastifyApplication;
  readonly url: string;
  close(): Promise<void>;
}

/** Boots the application with the given settings, a data folder of its own, and no log. */
export async function startApp(settings: Readonly<Record<string, string>> = {}): Promise<TestApp> {
  const dataDir = await mkdtemp(join(tmpdir(), 'app-'));
  const app = await createApp(resolveConfig({ DATA_DIR: dataDir, PORT: '0', ...settings }), false);
  await app.listen(0, '127.0.0.1');
  const close = async () => {
    await app.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { app, url: await app.getUrl(), close, [Symbol.asyncDispose]: close };
}
