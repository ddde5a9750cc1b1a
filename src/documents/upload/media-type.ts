import { extname } from 'node:path';
import { UnsupportedUploadError } from '../documents.errors.js';

/** The media types of documents. */
export type DocumentMediaType = 'application/pdf' | 'text/plain' | 'text/markdown';

const known: readonly string[] = ['application/pdf', 'text/plain', 'text/markdown'];
const byExtension: Readonly<Record<string, DocumentMediaType>> = {
  '.pdf': 'application/pdf',
  '.txt': 'text/plain',
  '.md': 'text/markdown',
  '.markdown': 'text/markdown',
};
const pdfStart = Buffer.from('%PDF-');

/**
 * The media type of an uploaded file: the one it was declared with, or the one of its name's
 * extension where it was declared as mere bytes. A PDF must begin as one.
 * @throws UnsupportedUploadError
 */
export function mediaTypeOf(
  declared: string,
  fileName: string,
  bytes: Uint8Array,
): DocumentMediaType {
  const [essence = ''] = declared.toLowerCase().split(';', 1);
  const type = essence.trim() === 'application/octet-stream' ? fromName(fileName) : essence.trim();
  if (!isDocumentMediaType(type)) {
    throw new UnsupportedUploadError(`Files of type "${type}" are not supported.`);
  }
  if (type === 'application/pdf' && !pdfStart.equals(bytes.subarray(0, pdfStart.length))) {
    throw new UnsupportedUploadError(
      'The file is declared as a PDF but does not begin with "%PDF-".',
    );
  }
  return type;
}

function isDocumentMediaType(type: string): type is DocumentMediaType {
  return known.includes(type);
}

function fromName(fileName: string): string {
  const extension = extname(fileName).toLowerCase();
  return byExtension[extension] ?? `application/octet-stream (${extension || 'no extension'})`;
}
