export { Extractor } from './extractor.js';
export type { ExtractedPage, Extraction } from './extraction.js';
export { UnreadableDocumentError } from './unreadable-document.error.js';
