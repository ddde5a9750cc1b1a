import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';

/** An answer that a front gives in the service's place. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A problem as the service spells it; without seconds it says nothing of another try. */
export function refusal(status: number, code: string, retryAfterSeconds?: number): Refusal {
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    },
    body: JSON.stringify({ type: `urn:doclock:problem:${code}`, status, code, detail: code }),
  };
}

/** A front of a service: answers its first POST requests with refusals, and passes all others on. */
export class Front implements AsyncDisposable {
  /** The Idempotency-Key of each POST request. */
  readonly keys: unknown[] = [];

  private constructor(private readonly server: Server) {}

  static async start(serviceUrl: string, refusals: readonly Refusal[]): Promise<Front> {
    const server = createServer();
    const front = new Front(server);
    server.on('request', (asked, response) => {
      const { method, url = '', headers } = asked;
      const refused = method === 'POST' ? refusals[front.keys.length] : undefined;
      if (method === 'POST') front.keys.push(headers['idempotency-key']);
      if (refused) {
        response.writeHead(refused.status, refused.headers).end(refused.body);
        return;
      }
      const passed = request(new URL(url, serviceUrl), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      asked.pipe(passed);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return front;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
