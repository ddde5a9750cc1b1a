import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Files in PEM: an authority of the test's own, and a certificate of it for 127.0.0.1, for servers and clients. */
export interface Certificates extends AsyncDisposable {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Makes them with openssl, in a temporary directory; they are good for two days. */
export async function makeCertificates(): Promise<Certificates> {
  const directory = await mkdtemp(join(tmpdir(), 'certificates-'));
  const file = (name: string) => join(directory, name);
  const newKey = (name: string) => [
    ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-keyout', file(`${name}.key`), '-subj', `/CN=${name}`],
  ];
  await writeFile(file('names'), 'subjectAltName=IP:127.0.0.1\n');
  await run('openssl', ['req', '-x509', '-days', '2', ...newKey('ca'), '-out', file('ca.pem')]);
  await run('openssl', ['req', ...newKey('doclock'), '-out', file('request')]);
  await run('openssl', [
    ...['x509', '-req', '-days', '2', '-in', file('request'), '-extfile', file('names')],
    ...['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial'],
    ...['-out', file('doclock.pem')],
  ]);
  return {
    ca: file('ca.pem'),
    cert: file('doclock.pem'),
    key: file('doclock.key'),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
