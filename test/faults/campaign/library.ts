import { makePdf, truncate } from '../../support/pdf.js';

/** A document of the workload, and how it is uploaded. */
export interface LibraryDocument {
  readonly id: string;
  /** No version of it can be read. */
  readonly isBroken: boolean;
  /** The request that uploads a version of it. */
  upload(version: number): RequestInit;
}

/** How many sentences a text has: three chunks' worth. */
const SENTENCES = 14;

/** Marks a passage as of one version of one document. */
export const MARK = /\[([a-z0-9-]+) v(\d{6})\]/g;

/** Texts of which every passage tells the version, a PDF, and one that cannot be read. */
export async function makeLibrary(texts: number): Promise<LibraryDocument[]> {
  const pdf = await makePdf(['The first page of a manual.', 'The second page.', 'The last one.']);
  return [
    ...Array.from({ length: texts }, (_, index) => textDocument(`text-${index + 1}`)),
    { id: 'manual', isBroken: false, upload: () => fileUpload(pdf) },
    { id: 'broken', isBroken: true, upload: () => fileUpload(truncate(pdf)) },
  ];
}

/** A text of which every sentence holds its mark. */
export function textOf(id: string, version: number): string {
  const mark = `[${id} v${String(version).padStart(6, '0')}]`;
  return Array.from(
    { length: SENTENCES },
    (_, index) => `Sentence ${index + 1} of the document speaks of chapter ${index + 1} ${mark}.`,
  ).join(' ');
}

/** A text under an id. */
export function textDocument(id: string): LibraryDocument {
  return {
    id,
    isBroken: false,
    upload: (version) => ({
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: id, text: textOf(id, version) }),
    }),
  };
}

function fileUpload(bytes: Buffer): RequestInit {
  const form = new FormData();
  form.append('file', new Blob([bytes], { type: 'application/pdf' }), 'manual.pdf');
  return { body: form };
}
