import PdfKit from 'pdfkit';

/** What stands on a page: text, nothing, or a picture only. */
export type PageContent = string | { readonly blank: true } | { readonly image: true };

/** Options of a generated PDF. */
export interface PdfOptions {
  /** Whoever opens it needs this password. */
  readonly password?: string;
}

/** One grey pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
  'base64',
);

/** A small real PDF, one page per entry. */
export function makePdf(pages: readonly PageContent[], options: PdfOptions = {}): Promise<Buffer> {
  const document = new PdfKit({
    autoFirstPage: false,
    ...(options.password !== undefined && { userPassword: options.password }),
  });
  for (const page of pages) {
    document.addPage();
    if (typeof page === 'string') document.text(page);
    else if ('image' in page) document.image(PIXEL, 100, 100, { width: 200 });
  }
  document.end();
  return collect(document);
}

/** The same PDF with its end missing, as after an upload that broke off. */
export function truncate(pdf: Buffer, keep = 0.6): Buffer {
  return pdf.subarray(0, Math.floor(pdf.length * keep));
}

/**
 * A hand-made PDF of one page whose content stream is given as it is: for what no library writes.
 * @param declaredPages how often the page tree lists that one page
 */
export function rawPdf(content: Buffer, filter?: string, declaredPages = 1): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  const add = (body: string | Buffer) => {
    offsets.push(parts.reduce((sum, part) => sum + part.length, 0));
    parts.push(
      Buffer.from(`${offsets.length} 0 obj\n`),
      Buffer.from(body),
      Buffer.from('\nendobj\n'),
    );
  };
  const kids = Array.from({ length: declaredPages }, () => '3 0 R').join(' ');
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(`<< /Type /Pages /Kids [${kids}] /Count ${declaredPages} >>`);
  add(
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
  );
  const head = `<< /Length ${content.length}${filter === undefined ? '' : ` /Filter ${filter}`} >>\nstream\n`;
  add(Buffer.concat([Buffer.from(head), content, Buffer.from('\nendstream')]));
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  const xref = parts.reduce((sum, part) => sum + part.length, 0);
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = offsets.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${xref}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

async function collect(document: NodeJS.ReadableStream): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of document) parts.push(Buffer.from(part));
  return Buffer.concat(parts);
}
