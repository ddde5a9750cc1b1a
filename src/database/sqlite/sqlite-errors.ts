import { DatabaseUnavailableError } from '../database.errors.js';

// https://www.sqlite.org/rescode.html: what says nothing about the statement itself.
const unavailable = new Map<number, string>([
  [5, 'another process keeps it locked'],
  [6, 'another connection of this process keeps it locked'],
  [7, 'out of memory'],
  [8, 'the file or its folder is read-only'],
  [10, 'reading or writing the file failed'],
  [11, 'the file is damaged; restore it from a backup'],
  [13, 'the disk is full'],
  [14, 'the file cannot be opened'],
  [15, 'the locking protocol of the file system failed'],
  [22, 'the file is larger than the file system allows'],
  [26, 'the file is not an SQLite database'],
]);

// By shape: some of the binding's errors are no native errors, some are of another realm's class.
function isErrorLike(error: unknown): error is { message: string } {
  return (
    typeof error === 'object' &&
    error !== null &&
    'message' in error &&
    typeof error.message === 'string'
  );
}

function primaryCode(error: unknown): number | undefined {
  if (!isErrorLike(error) || !('rawCode' in error)) return undefined;
  return typeof error.rawCode === 'number' ? error.rawCode & 0xff : undefined;
}

/** True where somebody else has the file locked, so that trying again may help. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === 5 || code === 6;
}

/** DatabaseUnavailableError for trouble with the file itself; every other error as it is. */
export function translateSqliteError(error: unknown, path: string): unknown {
  if (!isErrorLike(error)) return error;
  const code = primaryCode(error);
  const why = code === undefined ? undefined : unavailable.get(code);
  if (why !== undefined) {
    return new DatabaseUnavailableError(`${path}: ${why} (${error.message}).`, { cause: error });
  }
  // The binding reports these two without a code.
  if (/ConnectionFailed|connection is not open/.test(error.message)) {
    return new DatabaseUnavailableError(
      `${path} cannot be opened or is closed (${error.message}).`,
      {
        cause: error,
      },
    );
  }
  return error;
}
