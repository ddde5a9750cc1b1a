import { Controller, Delete, Get, Param, Query } from '@nestjs/common';
import { Rules } from '../http/index.js';
import { LockNameParam } from './dto/lock-name.dto.js';
import { type LockListView, type LockView, type RevokedView } from './dto/lock.view.js';
import { LocksQuery } from './dto/locks-query.dto.js';
import { RevokeQuery } from './dto/revoke-query.dto.js';
import { LocksService } from './locks.service.js';

const adminOnly = { access: 'admin' } as const;

/** The locks that are held in all replicas, for people who look after them. */
@Controller('locks')
export class LocksController {
  constructor(private readonly locks: LocksService) {}

  @Get()
  @Rules(adminOnly)
  list(@Query() { limit }: LocksQuery): Promise<LockListView> {
    return this.locks.list(limit);
  }

  @Get(':name')
  @Rules(adminOnly)
  inspect(@Param() { name }: LockNameParam): Promise<LockView> {
    return this.locks.inspect(name);
  }

  @Delete(':name')
  @Rules(adminOnly)
  revoke(@Param() { name }: LockNameParam, @Query() { force }: RevokeQuery): Promise<RevokedView> {
    return this.locks.revoke(name, force === 'true');
  }
}
