import { type RedisAccess } from './config.js';
import { listOf } from './list-of.js';

/** A server, or a primary by its name, as one entry of a setting spells it. */
export interface RedisEntry {
  readonly host: string;
  /** undefined where none is given. */
  readonly port: number | undefined;
  readonly access: RedisAccess;
}

/**
 * `host:port` or `redis://user:password@host:port`, `rediss://` with TLS; what a URL cannot hold is
 * percent-encoded. undefined for anything else.
 */
export function parseEntry(text: string): RedisEntry | undefined {
  const isUrl = /^rediss?:\/\//.test(text);
  const address = isUrl ? text : `redis://${text}`;
  if (!URL.canParse(address) || (!isUrl && text.includes('@'))) return undefined;
  const url = new URL(address);
  const { protocol, hostname: host, port, username, password } = url;
  if (host === '' || url.pathname + url.search + url.hash !== '') return undefined;
  try {
    const access = {
      username: decodeURIComponent(username) || undefined,
      password: decodeURIComponent(password) || undefined,
      tls: protocol === 'rediss:',
    };
    return { host, port: port === '' ? undefined : Number(port), access };
  } catch {
    return undefined; // a percent sign that encodes nothing
  }
}

/** Whether it is a list, with commas, of servers with their ports. */
export function isServerList(text: string): boolean {
  return listOf(text).every((entry) => parseEntry(entry)?.port !== undefined);
}

/** Whether it is the name of a primary, alone or as the host of a URL without a port. */
export function isPrimaryName(text: string): boolean {
  const entry = parseEntry(text);
  return entry !== undefined && entry.port === undefined;
}
