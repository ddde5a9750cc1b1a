import { type AppConfig } from '../../config/index.js';

/** What people should know about who may do what, in one sentence; undefined where all tokens are set. */
export function accessNotice({ access, http }: AppConfig): string | undefined {
  const { apiTokens, adminToken } = access;
  if (apiTokens.length > 0) {
    return adminToken === null
      ? 'Locks and archives are closed to everybody: set ADMIN_TOKEN to use them.'
      : undefined;
  }
  const what = adminToken === null ? 'do everything, revoking locks included' : 'write';
  return http.isLoopback
    ? `No API_TOKENS are set, so the service listens on this machine only (${http.host}), and whoever reaches it may ${what}.`
    : `No API_TOKENS are set and API_OPEN is true: whoever reaches ${http.host} may ${what}.`;
}
