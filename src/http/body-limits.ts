/** What no document needs is refused above this. */
export const FIELDS_LIMIT_BYTES = 16 * 1024;
