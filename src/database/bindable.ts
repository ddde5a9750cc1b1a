import { DatabaseValueError } from './database.errors.js';

/** The values that both databases keep as they are. */
export type Bindable = string | bigint | number | null | Buffer;

const MAX_INTEGER = 2n ** 63n - 1n;
const MIN_INTEGER = -(2n ** 63n);

function bindableValue(value: unknown, position: number): Bindable {
  switch (typeof value) {
    case 'string':
      if (value.includes('\0')) {
        throw new DatabaseValueError(
          `Parameter ${position} is a text with a NUL character: SQLite would cut it there, PostgreSQL refuses it. Strip it first (withoutNul).`,
        );
      }
      return value;
    case 'number':
      if (!Number.isFinite(value)) {
        throw new DatabaseValueError(
          `Parameter ${position} is ${value}, which no column can hold.`,
        );
      }
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case 'bigint':
      if (value > MAX_INTEGER || value < MIN_INTEGER) {
        throw new DatabaseValueError(`Parameter ${position} does not fit into 64 bits.`);
      }
      return value;
    default:
      if (value === null) return null;
      if (Buffer.isBuffer(value)) return value;
      if (value instanceof Uint8Array) {
        return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      }
      throw new DatabaseValueError(
        `Parameter ${position} is ${value === undefined ? 'undefined' : `a ${typeof value}`}; only strings, numbers, bigints, null and bytes (Uint8Array) can be stored. Convert it first.`,
      );
  }
}

/**
 * The one gate for every parameter of every query, the same on both databases: what would be
 * changed silently, or end the process inside the native SQLite binding, is refused here.
 * Whole numbers become bigints, bytes become Buffers over the same memory.
 * @throws DatabaseValueError for booleans, dates, undefined, NaN, objects, text with NUL, integers above 64 bits
 */
export function bindable(parameters: readonly unknown[]): Bindable[] {
  return parameters.map((value, index) => bindableValue(value, index + 1));
}

/** The text without NUL characters, which no text column of either database can hold. */
export function withoutNul(text: string): string {
  return text.replaceAll('\0', '');
}
