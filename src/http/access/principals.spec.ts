import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { may, Principals } from './principals.js';

const digest = (token: string) => createHash('sha256').update(token).digest('hex');
const none = { apiTokens: [], adminToken: null };
const both = { apiTokens: [digest('first'), digest('second')], adminToken: digest('root') };

describe('principals', () => {
  it('are told apart by their tokens, and named without them', () => {
    const principals = new Principals(both);
    const named = ['Bearer first', 'bearer  second ', 'Bearer root'].map((header) =>
      principals.of(header),
    );
    expect(named.map((principal) => principal?.level)).toEqual(['writer', 'writer', 'admin']);
    expect(new Set(named.map((principal) => principal?.name)).size).toBe(3);
    expect(JSON.stringify(named)).not.toMatch(/first|second|root/);
    expect(principals.of(undefined)).toEqual({ name: 'anyone', level: 'anyone' });
  });

  it.each(['Bearer firs', 'Bearer first second', 'Basic first', 'first', '', 'Bearer '])(
    'are nobody with %j',
    (header) => {
      expect(new Principals(both).of(header)).toBeNull();
    },
  );

  it('may what no token is set for, whatever they send', () => {
    expect(new Principals(none).of(undefined)?.level).toBe('admin');
    expect(new Principals(none).of('Bearer whatever')?.level).toBe('admin');
    expect(new Principals({ ...none, adminToken: digest('root') }).anyone.level).toBe('writer');
    expect(new Principals({ ...both, adminToken: null }).anyone.level).toBe('anyone');
  });

  it('may what a lower level may', () => {
    const admin = { name: 'admin', level: 'admin' } as const;
    const writer = { name: 'api:1', level: 'writer' } as const;
    expect([may(admin, 'writer'), may(admin, 'admin'), may(writer, 'anyone')]).toEqual([
      true,
      true,
      true,
    ]);
    expect(may(writer, 'admin')).toBe(false);
  });
});
