import { Injectable, Logger } from '@nestjs/common';
import { LockName, LockService } from '../lock/index.js';
import { ForeignLockError, LockNotFoundError } from './administration.errors.js';
import { type LockListView, type LockView, type RevokedView, toLockView } from './dto/lock.view.js';

/** Looks after locks. Every method throws LockUnavailableError; names are escaped ones. */
@Injectable()
export class LocksService {
  private readonly logger = new Logger(LocksService.name);

  constructor(private readonly locks: LockService) {}

  /** Up to `limit` locks. Goes through the store's keys page by page, and stops as soon as it has enough. */
  async list(limit: number): Promise<LockListView> {
    const items: LockView[] = [];
    for await (const lock of this.locks.list()) {
      if (items.length === limit) return { items, isTruncated: true };
      items.push(toLockView(lock, Date.now()));
    }
    return { items, isTruncated: false };
  }

  /** @throws LockNotFoundError */
  async inspect(name: string): Promise<LockView> {
    const lock = await this.locks.inspect(LockName.ofEscaped(name));
    if (!lock) throw new LockNotFoundError(name);
    return toLockView(lock, Date.now());
  }

  /** @throws LockNotFoundError, ForeignLockError */
  async revoke(name: string, force: boolean): Promise<RevokedView> {
    const outcome = await this.locks.revoke(LockName.ofEscaped(name), { force });
    if (outcome === 'not-held') throw new LockNotFoundError(name);
    if (outcome === 'foreign') throw new ForeignLockError(name);
    const risk = outcome === 'deleted' ? '; a holder that still works does so beside the next' : '';
    this.logger.warn(`Lock ${name} was ${outcome} by an administrator${risk}.`);
    return { name, outcome };
  }
}
