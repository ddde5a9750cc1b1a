import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';

const MAX_PER_CLIENT = 100;

describe('the event streams of a replica', () => {
  let test: TestApp;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    test = await startApp({ TRUST_PROXY: 'loopback' });
    await fetch(`${test.url}/documents/a`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'A', text: 'A text.' }),
    });
  });

  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await test.close();
  });

  /** Asks for a stream and gives the head of the answer, with the connection left open. */
  const open = (address: string, path = '/documents/a/events', method = 'GET') =>
    new Promise<{ head: string; socket: Socket }>((resolve, reject) => {
      const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
      let head = '';
      sockets.push(socket);
      socket.on('error', reject);
      socket.on('data', (data: Buffer) => {
        head += data.toString();
        if (head.includes('\r\n\r\n')) resolve({ head, socket });
      });
      socket.write(`${method} ${path} HTTP/1.1\r\nhost: a\r\nx-forwarded-for: ${address}\r\n\r\n`);
    });

  const times = (count: number, ask: () => ReturnType<typeof open>) =>
    Promise.all(Array.from({ length: count }, ask));
  const statuses = (answers: readonly { head: string }[]) =>
    [...new Set(answers.map(({ head }) => head.slice(9, 12)))].join();

  it('are a hundred for each client at most, and free again when they end', async () => {
    const first = await times(MAX_PER_CLIENT, () => open('192.0.2.1'));
    expect(statuses(first)).toBe('200');
    const refused = await open('192.0.2.1');
    expect(refused.head).toMatch(/^HTTP\/1\.1 429 /);
    expect(refused.head).toContain('application/problem+json');
    expect((await open('192.0.2.2')).head).toMatch(/^HTTP\/1\.1 200 /);
    for (const { socket } of first) socket.destroy();
    await eventually(async () => {
      const again = await open('192.0.2.1');
      again.socket.destroy();
      return again.head.startsWith('HTTP/1.1 200');
    });
  });

  it('cost nothing that stays where there is no document, and for HEAD', async () => {
    const none = '/documents/none/events';
    expect(statuses(await times(MAX_PER_CLIENT, () => open('192.0.2.3', none)))).toBe('404');
    const heads = await times(MAX_PER_CLIENT, () => open('192.0.2.3', undefined, 'HEAD'));
    expect(statuses(heads)).toBe('200');
    await eventually(async () => (await open('192.0.2.3')).head.startsWith('HTTP/1.1 200'));
  });

  it('end when their client leaves before they have begun', async () => {
    for (let i = 0; i < 2 * MAX_PER_CLIENT; i += 1) {
      const socket = connect(Number(new URL(test.url).port), '127.0.0.1');
      socket.write(
        'GET /documents/a/events HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 192.0.2.4\r\n\r\n',
        () => socket.destroy(),
      );
      await new Promise((closed) => socket.once('close', closed));
    }
    await eventually(async () => {
      const answers = await times(MAX_PER_CLIENT, () => open('192.0.2.4'));
      for (const { socket } of answers) socket.destroy();
      return statuses(answers) === '200';
    });
  });
});
