/**
 * Reads one PDF on a worker thread and posts the text of every page to `port` as soon as it has it.
 *
 * Task:   { port: MessagePort, maxPages, maxTextChars, maxMemoryMb }
 * Port:   { ready: true } once; then { next: true } until the answer to it is null, and not a piece of the
 *         bytes; { opened: true, pages } once, then { page, text } for each page, the first page being 1
 * Result: { ok: true, pages } or { ok: false, reason, detail }; throws only if PDFium cannot start
 *
 * Each document gets a WebAssembly instance of its own: what one of them breaks or does not give
 * back is gone with it. The compiled module is kept, so an instance costs a few milliseconds.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PDFiumLibrary } from '@hyzyla/pdfium';

let compiled;

export default async function extract({ port, ...limits }) {
  try {
    const memory = { exhausted: false };
    const library = await newLibrary(limits.maxMemoryMb * 2 ** 20, memory);
    port.postMessage({ ready: true });
    const bytes = await receive(port);
    if (bytes.lastIndexOf('%%EOF') === -1) {
      return refusal('broken', 'it is cut off (no end mark)');
    }
    try {
      return await readPages(library, bytes, port, limits);
    } catch (error) {
      return memory.exhausted
        ? refusal('too-large', `it needs more than ${limits.maxMemoryMb} MB of memory to be read`)
        : refusal('crashed', String(error?.message ?? error));
    }
  } finally {
    port.close();
  }
}

async function receive(port) {
  const pieces = [];
  for (;;) {
    port.postMessage({ next: true });
    const [piece] = await once(port, 'message');
    if (piece === null) return Buffer.concat(pieces);
    pieces.push(piece);
  }
}

async function readPages(library, bytes, port, { maxPages, maxTextChars }) {
  let document;
  try {
    document = await library.loadDocument(bytes);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error;
    const encrypted = /password|security/i.test(error.message);
    return refusal(encrypted ? 'encrypted' : 'broken', error.message);
  }
  const pages = document.getPageCount();
  if (pages <= 0) return refusal('broken', 'it has no pages');
  if (pages > maxPages) {
    return refusal('too-large', `it has ${pages} pages; at most ${maxPages} are read`);
  }
  port.postMessage({ opened: true, pages });
  let chars = 0;
  for (let index = 0; index < pages; index += 1) {
    const page = document.getPage(index);
    if (page.pageIdx === 0) return refusal('broken', `page ${index + 1} cannot be loaded`);
    const text = page.getText();
    // getText leaves the page open, with all that was parsed of it.
    page.module['_FPDF_ClosePage'](page.pageIdx);
    chars += text.length;
    if (chars > maxTextChars) {
      return refusal('too-large', `it has more than ${maxTextChars} characters of text`);
    }
    port.postMessage({ page: index + 1, text });
  }
  return { ok: true, pages };
}

async function newLibrary(maxBytes, memory) {
  compiled ??= await WebAssembly.compile(
    await readFile(fileURLToPath(import.meta.resolve('@hyzyla/pdfium/pdfium.wasm'))),
  );
  return PDFiumLibrary.init({
    instantiateWasm(imports, done) {
      const grow = imports.env.emscripten_resize_heap;
      imports.env.emscripten_resize_heap = (bytes) => {
        if (bytes >>> 0 <= maxBytes) return grow(bytes);
        memory.exhausted = true;
        return 0;
      };
      const instance = new WebAssembly.Instance(compiled, imports);
      done(instance, compiled);
      return instance.exports;
    },
  });
}

function refusal(reason, detail) {
  return { ok: false, reason, detail };
}
