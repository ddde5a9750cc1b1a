import { type IncomingMessage } from 'node:http';
import { PayloadTooLargeException } from '@nestjs/common';
import { MAX_BODY_IDLE_MS } from './body-limits.js';

/** A client has stopped in the middle of its request. */
export class BodyStalledError extends Error {
  readonly code = 'request_timeout';

  constructor() {
    super(
      `Nothing came of the request for ${MAX_BODY_IDLE_MS / 1_000} s. Send it again, all at once.`,
    );
    this.name = 'BodyStalledError';
  }
}

/**
 * The body of a request as it comes in. Whoever stops early leaves the rest unread.
 * @throws PayloadTooLargeException above `maxBytes`, at once where the head says so; BodyStalledError
 */
export async function* incomingBody(
  request: IncomingMessage,
  maxBytes: number,
): AsyncGenerator<Buffer, void> {
  const tooLarge = () => new PayloadTooLargeException('Request body is too large');
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const parts: AsyncIterator<Buffer> = request.iterator({ destroyOnReturn: false });
  let received = 0;
  for (;;) {
    const part = await withoutStalling(parts.next());
    if (part.done === true) return;
    received += part.value.length;
    if (received > maxBytes) throw tooLarge();
    yield part.value;
  }
}

async function withoutStalling<T>(next: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const stalled = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BodyStalledError()), MAX_BODY_IDLE_MS);
  });
  try {
    return await Promise.race([next, stalled]);
  } finally {
    clearTimeout(timer);
  }
}
