/** Stands in for the PDF worker in tests of a thread that dies: the bytes say when. */
export default async function extract({ bytes, port }) {
  const wish = Buffer.from(bytes).toString();
  if (wish.includes('die at start')) process.exit(3);
  port.postMessage({ ready: true });
  if (wish.includes('die after')) process.exit(3);
  if (wish.includes('lose a page')) return { ok: true, pages: 1 };
  port.postMessage({ opened: true, pages: 1 });
  port.postMessage({ page: 1, text: 'alive' });
  return { ok: true, pages: 1 };
}
