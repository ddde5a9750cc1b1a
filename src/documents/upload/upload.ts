import { cutText } from '../../http/index.js';
import { type StagedContent } from '../contents/content.js';
import { type DocumentMediaType } from './media-type.js';

/** A document as it comes in. */
export interface Upload {
  readonly title: string;
  readonly mediaType: DocumentMediaType;
  readonly content: StagedContent;
}

/** The longest title, in characters (code points); a longer file name is cut. */
export const MAX_TITLE_LENGTH = 200;

/** A title without control characters and outer white space; `fallback` where nothing is left. */
export function tidyTitle(given: string, fallback: string): string {
  const readable = given.replace(/[\p{Cc}\p{Cs}]+/gu, ' ').trim();
  const tidy = cutText(readable, MAX_TITLE_LENGTH).trim();
  return tidy === '' ? fallback : tidy;
}
