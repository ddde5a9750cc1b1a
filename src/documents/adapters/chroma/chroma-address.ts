/** The tenant and the database that every server has, unless somebody deletes them. */
export const [DEFAULT_TENANT, DEFAULT_DATABASE] = ['default_tenant', 'default_database'];

/** Where a ChromaDB server is, taken apart for `fetch`. */
export interface ChromaAddress {
  /** Where databases are made, without a slash at the end. */
  readonly databases: string;
  /** The database's part of the API, without a slash at the end. */
  readonly database: string;
  /** The API itself. */
  readonly api: string;
  /** Holds the credentials, if the URL has any. */
  readonly headers: Readonly<Record<string, string>>;
  /** For messages: the URL without its credentials. */
  readonly shown: string;
}

/**
 * Reads the URL of a server: a path before `/api/v2` is kept (a proxy may need it), and
 * `user:password@` becomes Basic authorization, since `fetch` refuses it in a URL. The tenant and the
 * database are the server's default ones.
 */
export function chromaAddress(url: string): ChromaAddress {
  const { origin, pathname, username, password } = new URL(url);
  const shown = origin + pathname.replace(/\/+$/, '');
  const api = `${shown}/api/v2`;
  const databases = `${api}/tenants/${DEFAULT_TENANT}/databases`;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    api,
    databases,
    database: `${databases}/${DEFAULT_DATABASE}`,
    headers:
      username || password
        ? { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
        : {},
    shown,
  };
}
