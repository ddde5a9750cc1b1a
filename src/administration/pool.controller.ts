import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { Answers, Problems, Rules } from '../http/index.js';
import { KeyFingerprintParam } from './dto/key-fingerprint.dto.js';
import { PoolView } from './dto/pool.view.js';
import { PoolService } from './pool.service.js';

const adminOnly = { access: 'admin' } as const;

/** The keys of the language model, for people who look after them. */
@Controller('pool')
export class PoolController {
  constructor(private readonly pool: PoolService) {}

  @Get()
  @Answers(PoolView)
  @Problems('key_pool_not_found', 'lock_unavailable')
  @Rules(adminOnly)
  show(): Promise<PoolView> {
    return this.pool.show();
  }

  @Post(':fingerprint/readmit')
  @HttpCode(200)
  @Answers(PoolView)
  @Problems('key_pool_not_found', 'key_not_found', 'lock_unavailable')
  @Rules(adminOnly)
  readmit(@Param() { fingerprint }: KeyFingerprintParam): Promise<PoolView> {
    return this.pool.readmit(fingerprint);
  }
}
