/** A caller's mistake: a cursor that no page of this service has given. */
export class InvalidCursorError extends Error {
  readonly code = 'invalid_cursor';

  constructor() {
    super('The cursor is not one that a page of this list gave. Leave it out to begin anew.');
    this.name = 'InvalidCursorError';
  }
}

/** The place of a row in a list that is ordered by time and id. */
export interface PagePlace {
  readonly createdAt: number;
  readonly id: string;
}

/** The place as an opaque text, safe in a URL. */
export function encodeCursor({ createdAt, id }: PagePlace): string {
  return Buffer.from(`${createdAt}:${id}`).toString('base64url');
}

/** The place that `encodeCursor` was given. @throws InvalidCursorError */
export function decodeCursor(cursor: string): PagePlace {
  const [, createdAt, id] =
    /^(\d{1,15}):([\w.-]{1,100})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (createdAt === undefined || id === undefined) throw new InvalidCursorError();
  return { createdAt: Number(createdAt), id };
}
