import { type RequestFile, type RequestIdentity, sha256 } from './fingerprint.js';

/** What is read of a request, on Fastify or on Express. */
export interface IncomingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly file?: unknown;
  readonly files?: unknown;
  readonly routeOptions?: { readonly url?: string | undefined };
  readonly route?: { readonly path?: string | undefined };
}

/** @throws Error where the form has not been read yet, or its files are not in memory */
export function identityOf(request: IncomingRequest, principal: string): RequestIdentity {
  const { method, params = {}, query = {}, body, headers } = request;
  const route = request.routeOptions?.url ?? request.route?.path;
  if (route === undefined) throw new Error('The platform adapter does not tell the route.');
  const files = filesOf(request);
  const isForm = String(headers['content-type']).toLowerCase().startsWith('multipart/');
  if (isForm && files.length === 0 && body === undefined) {
    throw new Error(
      `@Idempotent() on ${method} ${route} ran before the form was read. Write it above @UseInterceptors(FileInterceptor(…)).`,
    );
  }
  return { principal, method, route, params, query, body, files };
}

function filesOf({ file, files }: IncomingRequest): readonly RequestFile[] {
  const several = typeof files === 'object' && files !== null ? Object.values(files).flat() : [];
  const all: unknown[] = typeof file === 'object' && file !== null ? [file, ...several] : several;
  return all.map((each) => {
    if (isHashed(each)) return each;
    if (isBuffered(each)) return { ...each, sha256: sha256(each.buffer) };
    throw new Error('@Idempotent() needs the files of a form in memory or hashed (sha256).');
  });
}

function isHashed(file: unknown): file is RequestFile {
  return (
    typeof file === 'object' && file !== null && 'sha256' in file && typeof file.sha256 === 'string'
  );
}

function isBuffered(file: unknown): file is { readonly buffer: Uint8Array } {
  return (
    typeof file === 'object' &&
    file !== null &&
    'buffer' in file &&
    file.buffer instanceof Uint8Array
  );
}
