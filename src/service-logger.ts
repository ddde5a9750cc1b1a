import { isatty } from 'node:tty';
import { ConsoleLogger } from '@nestjs/common';
import { type AppConfig } from './config/index.js';

/** The log of the service: for people, or one JSON object a line. */
export class ServiceLogger extends ConsoleLogger {
  constructor({ logFormat }: Pick<AppConfig, 'logFormat'>) {
    const json = logFormat === 'json';
    super('Service', { json, colors: !json && isatty(process.stdout.fd) });
  }

  /** Leaves out what Nest says of an error at boot: `main.ts` tells it, without the stack where that helps nobody. */
  override error(message: unknown, ...rest: unknown[]): void {
    if (rest.at(-1) === 'ExceptionHandler') return;
    super.error(message, ...rest);
  }
}
