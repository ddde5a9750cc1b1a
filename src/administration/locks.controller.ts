import { Controller, Delete, Get, Param, Query } from '@nestjs/common';
import { Answers, Problems, Rules } from '../http/index.js';
import { LockNameParam } from './dto/lock-name.dto.js';
import { LockListView, LockView, RevokedView } from './dto/lock.view.js';
import { LocksQuery } from './dto/locks-query.dto.js';
import { RevokeQuery } from './dto/revoke-query.dto.js';
import { LocksService } from './locks.service.js';

const adminOnly = { access: 'admin' } as const;

/** The locks that are held in all replicas, for people who look after them. */
@Controller('locks')
export class LocksController {
  constructor(private readonly locks: LocksService) {}

  @Get()
  @Answers(LockListView)
  @Problems('lock_unavailable')
  @Rules(adminOnly)
  list(@Query() { limit }: LocksQuery): Promise<LockListView> {
    return this.locks.list(limit);
  }

  @Get(':name')
  @Answers(LockView)
  @Problems('lock_not_found', 'lock_unavailable')
  @Rules(adminOnly)
  inspect(@Param() { name }: LockNameParam): Promise<LockView> {
    return this.locks.inspect(name);
  }

  @Delete(':name')
  @Answers(RevokedView)
  @Problems('lock_not_found', 'lock_foreign', 'lock_unavailable')
  @Rules(adminOnly)
  revoke(@Param() { name }: LockNameParam, @Query() { force }: RevokeQuery): Promise<RevokedView> {
    return this.locks.revoke(name, force === 'true');
  }
}
