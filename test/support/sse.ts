/** One event of a stream of server-sent events. */
export interface SseEvent {
  readonly type: string;
  readonly data: unknown;
}

/** The events of a response as they come; ends with the response. Leaving the loop closes the connection. */
async function* sseEvents(response: Response): AsyncGenerator<SseEvent, void> {
  if (!response.body) return;
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true });
    const blocks = text.split(/\n\n/);
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
        }),
      );
      const data: unknown = JSON.parse(fields.get('data') ?? 'null');
      yield { type: fields.get('event') ?? 'message', data };
    }
  }
}

/** Reads until an event satisfies `isLast`, which is the last one given. */
export async function readUntil(
  response: Response,
  isLast: (event: SseEvent) => boolean,
): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of sseEvents(response)) {
    events.push(event);
    if (isLast(event)) break;
  }
  return events;
}
