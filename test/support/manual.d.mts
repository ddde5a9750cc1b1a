/** A long real manual, or, with MANUAL=generated, a generated one of the same length. */
export interface Manual {
  readonly bytes: Buffer;
  readonly pages: 480;
  /** Where it comes from, for people to read. */
  readonly source: string;
}

/** The manual of 480 pages; the first call on a machine downloads it, later ones find it. @throws where it cannot be had */
export function manual(): Promise<Manual>;
