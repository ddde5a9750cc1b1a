/** Stands in for the PDF worker in tests of a thread that dies: the bytes say when. */
import { once } from 'node:events';

export default async function extract({ port }) {
  port.postMessage({ ready: true });
  port.postMessage({ next: true });
  const [bytes] = await once(port, 'message');
  const wish = Buffer.from(bytes).toString();
  if (wish.includes('die after')) process.exit(3);
  if (wish.includes('lose a page')) return { ok: true, pages: 1 };
  port.postMessage({ opened: true, pages: 1 });
  port.postMessage({ page: 1, text: 'alive' });
  return { ok: true, pages: 1 };
}
