import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type AppConfig } from './config/index.js';

/** The service cannot listen where it is told to. Says what to set. */
export class ListenError extends Error {
  readonly code = 'listen_failed';

  constructor(why: string, fix: string, cause: unknown) {
    super(`${why} ${fix}`, { cause });
    this.name = 'ListenError';
  }
}

/** Begins to take requests. @throws ListenError */
export async function listen(
  app: NestFastifyApplication,
  { host, port }: AppConfig['http'],
): Promise<void> {
  try {
    await app.listen(port, host);
  } catch (error) {
    throw explained(host, port, error);
  }
}

function explained(host: string, port: number, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EADDRINUSE':
      return new ListenError(
        `Port ${port} of ${host} is taken by another process (${code}).`,
        'End that one, or set PORT to another number; 0 lets the system choose.',
        error,
      );
    case 'EACCES':
      return new ListenError(
        `This user may not listen on port ${port} (${code}).`,
        'Set PORT to 1024 or more.',
        error,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ListenError(
        `HOST is "${host}", which is no address of this machine (${code}).`,
        'Set HOST to one that is, such as 127.0.0.1, or 0.0.0.0 for all.',
        error,
      );
    default:
      return error;
  }
}
