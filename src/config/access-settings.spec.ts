import { describe, expect, it } from '@jest/globals';
import { resolveConfig } from './resolve-config.js';
import { mistakes } from './resolve-config.spec-support.js';

describe('the settings', () => {
  it('let nobody else reach a service that anybody may write to, unless that is said', () => {
    const token = 'a-token-of-20-letters';
    for (const HOST of ['0.0.0.0', '::', '10.1.2.3', 'doclock.example']) {
      const [mistake = '', ...more] = mistakes({ HOST, ADMIN_TOKEN: token });
      expect(more).toEqual([]);
      expect(mistake).toContain(`HOST is "${HOST}"`);
      expect(mistake).toContain('Set API_TOKENS');
      expect(mistakes({ HOST, API_OPEN: 'true' })).toEqual([]);
      expect(mistakes({ HOST, API_TOKENS: token })).toEqual([]);
    }
    for (const HOST of ['localhost', '127.0.0.1', '127.8.8.8', '::1']) {
      expect(mistakes({ HOST })).toEqual([]);
    }
  });

  it('keep digests of tokens, and no token, also in what they say of mistakes', () => {
    const { access, http } = resolveConfig({
      HOST: '::',
      API_TOKENS: 'first-token-of-mine , second-token-of-mine',
      ADMIN_TOKEN: 'admin-token-of-mine',
    });
    expect(access.apiTokens).toHaveLength(2);
    expect(JSON.stringify(access)).not.toContain('token-of-mine');
    expect(access.adminToken).toMatch(/^[0-9a-f]{64}$/);
    expect(http).toMatchObject({ isLoopback: false, rateLimitPerMinute: 1_200 });
    const wrong: Record<string, string>[] = [
      { API_TOKENS: 'long-enough-to-be-one,short' },
      { ADMIN_TOKEN: 'short' },
      { API_TOKENS: 'twice-the-same-token', ADMIN_TOKEN: 'twice-the-same-token' },
    ];
    for (const raw of wrong) {
      const said = mistakes(raw);
      expect(said).toHaveLength(1);
      expect(said[0]).not.toMatch(/short|twice-the/);
    }
  });

  it.each([
    ['loopback, 10.0.0.0/8,2001:db8::/32 , ::1', true],
    ['everybody', false],
    ['10.0.0.0/33', false],
    ['10.0.0.0/0', false],
    ['::/0', false],
    ['10.0.0.1,', false],
    ['10.0.0.0/8/8', false],
  ])('know what a proxy may be: %s', (TRUST_PROXY, isRight) => {
    expect(mistakes({ TRUST_PROXY })).toHaveLength(isRight ? 0 : 1);
  });
});
