import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { EMBEDDER, type Embedder } from '../../ports/embedder.js';
import { Extractor } from '../extract/index.js';

/** Ends the worker threads when the last work is over. */
@Injectable()
export class WorkerThreads implements OnApplicationShutdown {
  constructor(
    private readonly extractor: Extractor,
    @Inject(EMBEDDER) private readonly embedder: Embedder,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.extractor.close(), this.embedder.close()]);
  }
}
