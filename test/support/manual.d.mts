/** A long real manual, or, where none can be had, a generated one of the same length. */
export interface Manual {
  readonly bytes: Buffer;
  readonly pages: 480;
  /** Where it comes from, for people to read. */
  readonly source: string;
}

/** The manual of 480 pages; the first call on a machine downloads or generates it, later ones find it. */
export function manual(): Promise<Manual>;
