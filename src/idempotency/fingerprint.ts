import { createHash } from 'node:crypto';

/** What tells one request from another. */
export interface RequestIdentity {
  /** Who asks. */
  readonly principal: string;
  readonly method: string;
  /** As the router spells it, with placeholders. */
  readonly route: string;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly files: readonly RequestFile[];
}

/** A file of a form. */
export interface RequestFile {
  readonly fieldname?: string | undefined;
  readonly originalname?: string | undefined;
  readonly mimetype?: string | undefined;
  /** Of its bytes, in lower-case hex. */
  readonly sha256: string;
}

/** Names the record of a key: one per principal, route, path parameters and key. */
export function recordId(
  { principal, method, route, params }: RequestIdentity,
  key: string,
): string {
  return sha256(canonicalJson([principal, method, route, params, key]));
}

/**
 * The same for two requests that ask for the same: method, route, parameters, and the body's values
 * whatever their order, white space and escapes; a form's fields and files, whatever its boundary.
 * Costs a hash of the body.
 */
export function fingerprintOf(request: RequestIdentity): string {
  const { method, route, params, query, body, files } = request;
  const hashed = files.map(({ fieldname, originalname, mimetype, sha256: hash }) => {
    return [fieldname, originalname, mimetype, hash];
  });
  return sha256(canonicalJson([method, route, params, query, body, hashed]));
}

/** JSON with sorted keys and without white space; undefined counts as null. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
    return `{${members.join()}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** In lower-case hex. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
