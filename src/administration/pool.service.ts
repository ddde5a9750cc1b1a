import { Inject, Injectable, Logger } from '@nestjs/common';
import { type KeyPool } from '../key-pool/index.js';
import { LLM, type Llm } from '../llm/index.js';
import { KeyPoolNotFoundError } from './administration.errors.js';
import { type PoolView, toPoolView } from './dto/pool.view.js';

/** Looks after the keys of the language model. Both throw KeyPoolNotFoundError and LockUnavailableError. */
@Injectable()
export class PoolService {
  private readonly logger = new Logger(PoolService.name);

  constructor(@Inject(LLM) private readonly llm: Llm | null) {}

  /** One round trip. */
  async show(): Promise<PoolView> {
    return toPoolView(await this.pool().inspect(), Date.now());
  }

  /** Back in use at once, whether it rested or was out of use; harmless where neither is so. @throws KeyNotFoundError */
  async readmit(fingerprint: string): Promise<PoolView> {
    await this.pool().readmit(fingerprint);
    this.logger.warn(`Key ${fingerprint} was readmitted by an administrator.`);
    return this.show();
  }

  private pool(): KeyPool {
    if (!this.llm) throw new KeyPoolNotFoundError();
    return this.llm.pool;
  }
}
