import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseUnavailableError } from '../database.errors.js';
import { LibsqlFile } from './libsql-file.js';
import { isBusy } from './sqlite-errors.js';

/** `exclusive`: alone; `shared`: together with other shared holders. */
export type FileLockMode = 'exclusive' | 'shared';

/**
 * A lock among the processes of one machine, held as an open transaction on a small SQLite file, so
 * that the operating system frees it at once when the process ends in any way. It also excludes
 * within one process. It needs a local file system (not NFS), and nothing else in the process may
 * open that file: closing any descriptor of a file drops the process's locks on it.
 */
export class FileLock {
  private constructor(private readonly file: LibsqlFile) {}

  /**
   * Takes the lock, trying again for up to `waitMs` without blocking the event loop (0: one try).
   * @returns null when somebody else holds it in a conflicting mode
   * @throws DatabaseUnavailableError when the file cannot be opened
   */
  static async acquire(file: string, mode: FileLockMode, waitMs: number): Promise<FileLock | null> {
    try {
      await mkdir(path.dirname(file), { recursive: true });
    } catch (error) {
      throw new DatabaseUnavailableError(
        `the folder of ${file} cannot be created. Make it writable, or set another data folder.`,
        { cause: error },
      );
    }
    const held = LibsqlFile.open({ path: file, deadlineMs: waitMs });
    try {
      // Nothing is written, so that a full disk keeps nobody from starting.
      await held.read('pragma journal_mode = memory', []);
      if (mode === 'exclusive') {
        await held.begin('exclusive');
      } else {
        await held.begin('deferred');
        await held.read('select count(*) from sqlite_master', []);
      }
      return new FileLock(held);
    } catch (error) {
      held.close();
      if (error instanceof DatabaseUnavailableError && isBusy(error.cause)) return null;
      throw error;
    }
  }

  /** Frees the lock. */
  async release(): Promise<void> {
    await this.file.rollback();
    this.file.close();
  }
}
