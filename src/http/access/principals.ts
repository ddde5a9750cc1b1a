import { createHash, timingSafeEqual } from 'node:crypto';
import { type AppConfig } from '../../config/index.js';
import { type AccessLevel } from './route-rules.js';

/** Who sends a request, as far as the service knows. */
export interface Principal {
  /** `anyone`, `admin`, or `api:` and a fingerprint of the token. Not a secret. */
  readonly name: string;
  readonly level: AccessLevel;
}

const ranks: Record<AccessLevel, number> = { anyone: 0, writer: 1, admin: 2 };
const bearer = /^Bearer +(\S+) *$/i;

/** Whether the principal may what needs that level. */
export function may({ level }: Principal, needed: AccessLevel): boolean {
  return ranks[level] >= ranks[needed];
}

/**
 * Tells principals by their bearer tokens. What no token is set for is open: without API_TOKENS
 * everybody may write, without any token everybody may do everything.
 */
export class Principals {
  /** Who sends no token. */
  readonly anyone: Principal;
  private readonly known: readonly { readonly digest: Buffer; readonly principal: Principal }[];

  constructor({ apiTokens, adminToken }: AppConfig['access']) {
    const isOpen = apiTokens.length === 0;
    this.anyone = {
      name: 'anyone',
      level: !isOpen ? 'anyone' : adminToken === null ? 'admin' : 'writer',
    };
    this.known = [
      ...apiTokens.map((digest) => entry(digest, `api:${digest.slice(0, 8)}`, 'writer')),
      ...(adminToken === null ? [] : [entry(adminToken, 'admin', 'admin')]),
    ];
  }

  /**
   * Who the Authorization header speaks for; null for a token that is not known. The token is hashed and
   * compared with every known one in constant time: how long that takes says nothing about any of them.
   */
  of(authorization: string | undefined): Principal | null {
    if (authorization === undefined || this.known.length === 0) return this.anyone;
    const digest = createHash('sha256')
      .update(bearer.exec(authorization)?.[1] ?? '')
      .digest();
    let found: Principal | null = null;
    for (const { digest: known, principal } of this.known) {
      if (timingSafeEqual(known, digest)) found = principal;
    }
    return found;
  }
}

function entry(digest: string, name: string, level: AccessLevel) {
  return { digest: Buffer.from(digest, 'hex'), principal: { name, level } };
}
