export { Extractor, READABLE_MEDIA_TYPES } from './extractor.js';
export { type ExtractOptions, DEFAULT_EXTRACT_OPTIONS } from './extract-options.js';
export type { ExtractCall, ExtractedPage, Extraction } from './extraction.js';
export { UnreadableDocumentError, type UnreadableReason } from './unreadable-document.error.js';
