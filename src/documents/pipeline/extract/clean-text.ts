/** NUL and the other control characters that no text needs; tab and line feed stay. */
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/g;

/**
 * Text as PDFium gives it, made fit for splitting and storing: line ends become "\n", a word that
 * was hyphenated at a line end (U+FFFE) becomes whole, control characters go. A page of nothing but
 * white space becomes ''.
 */
export function cleanPdfText(text: string): string {
  const clean = text
    .replace(/\r\n?|\f/g, '\n')
    .replace(/\ufffe\n?/g, '')
    .replace(controls, '');
  return clean.trim() === '' ? '' : clean;
}
