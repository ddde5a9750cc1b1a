import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ContentsRepository } from './contents.repository.js';

const EVERY_MS = 60_000;

/** Removes, once a minute, some of what uploads have left that broke off with their process. */
@Injectable()
export class AbandonedUploads implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(AbandonedUploads.name);
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly contents: ContentsRepository) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => void this.remove(), EVERY_MS);
    this.timer.unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  private async remove(): Promise<void> {
    try {
      const removed = await this.contents.removeAbandoned();
      if (removed > 0) this.logger.log(`Removed the pieces of ${removed} abandoned uploads.`);
    } catch (error) {
      this.logger.warn(`Abandoned uploads stay for another minute: ${String(error)}`);
    }
  }
}
