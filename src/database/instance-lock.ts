import path from 'node:path';
import { FileLock, type FileLockMode } from './sqlite/file-lock.js';

/** Another process uses the same data folder in a way that excludes this one. Boot must refuse. */
class InstanceLockError extends Error {
  readonly code = 'instance_lock';

  constructor(file: string, mode: FileLockMode) {
    super(
      mode === 'exclusive'
        ? `${file} is held by another process: with the memory lock store a process must be alone in its data folder, since its locks do not reach others. Stop the other process, give this one a data folder of its own (DATA_DIR), or give both a shared lock store (REDIS_URL).`
        : `${file} is held exclusively by another process, which keeps its locks in its own memory and so cannot share its data folder. Stop it or start it with a shared lock store (REDIS_URL), or give this one a data folder of its own (DATA_DIR).`,
    );
    this.name = 'InstanceLockError';
  }
}

/**
 * Says, for the life of the process, how its data folder may be shared: `exclusive` with the memory
 * lock store, `shared` with a lock store that all processes see. The operating system frees it when
 * the process ends, however it ends.
 */
export class InstanceLock {
  private constructor(
    private readonly lock: FileLock,
    readonly mode: FileLockMode,
  ) {}

  /** One try on `<dataDir>/instance.lock`. @throws InstanceLockError, DatabaseUnavailableError */
  static async acquire(dataDir: string, mode: FileLockMode): Promise<InstanceLock> {
    const file = path.join(dataDir, 'instance.lock');
    const lock = await FileLock.acquire(file, mode, 0);
    if (lock === null) throw new InstanceLockError(file, mode);
    return new InstanceLock(lock, mode);
  }

  /** Frees the folder; only when the last lock and the last write of the process are over. */
  release(): Promise<void> {
    return this.lock.release();
  }
}
