import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { escapeValue, lockName, LockName, MAX_NAME_LENGTH, nameFamily } from './lock-name.js';
import { LockOptionsError } from './lock.errors.js';

/** Strings that can be values: well-formed, not empty, short enough to stay below the limit when escaped. */
const text = fc
  .string({ minLength: 1, maxLength: 30, unit: 'binary' })
  .filter((value) => !/\p{Cs}/u.test(value));
const spiky = fc.stringMatching(/^[a:{}% \n%37AB-]{1,12}$/);
const value = fc.oneof(text, spiky);
const plain = /^[^\s\p{Cc}\u2028\u2029{}]*$/u;

describe('LockName', () => {
  it('gives two lists of values the same name only if they are equal', () => {
    fc.assert(
      fc.property(fc.tuple(value, value), fc.tuple(value, value), (one, other) => {
        const same = one.every((entry, index) => entry === other[index]);
        const [a, b] = [one, other].map((values) => LockName.join(['doc:', ':', ''], values));
        expect(a?.escaped === b?.escaped).toBe(same);
      }),
    );
  });

  it('keeps shifted separators apart, which a plain join would not', () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        const left = lockName`t:${`${a}:${b}`}:${c}`;
        const right = lockName`t:${a}:${`${b}:${c}`}`;
        expect(left.escaped).not.toBe(right.escaped);
      }),
    );
  });

  it('gives two whole names the same lock only if they are equal', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(LockName.of(a).escaped === LockName.of(b).escaped).toBe(a === b);
      }),
    );
  });

  it('leaves nothing that could break a hash tag, a key or a log line', () => {
    fc.assert(
      fc.property(value, (entry) => {
        const { escaped } = lockName`doc:${entry}`;
        expect(escaped).toMatch(plain);
        expect(escaped.slice('doc:'.length)).not.toContain(':');
        expect(decodeURIComponent(escaped)).toBe(`doc:${entry}`); // nothing is lost, either
      }),
    );
  });

  it('escapes once, however often a name passes', () => {
    const name = lockName`doc:${'50%'}`;
    expect(name.escaped).toBe('doc:50%25');
    expect(LockName.of(name)).toBe(name);
    expect(LockName.of('doc:a b').escaped).toBe('doc:a%20b');
  });

  it('is found again by its escaped form, and by no other text', () => {
    for (const name of ['doc:1001', lockName`doc:${'a:b {c}'}`, LockName.of('é %')]) {
      const { escaped } = LockName.of(name);
      expect(LockName.ofEscaped(escaped).escaped).toBe(escaped);
    }
    for (const wrong of ['', 'a b', 'a{', 'a%', 'a%3a', 'a%GG', '\ud800']) {
      expect(() => LockName.ofEscaped(wrong)).toThrow(LockOptionsError);
    }
  });

  it('keeps the separators of a whole name', () => {
    expect(LockName.of('doc:1:2').escaped).toBe('doc:1:2');
    expect(lockName`doc:${'1:2'}`.escaped).toBe('doc:1%3A2');
  });

  it('demands a separator between two values', () => {
    expect(() => lockName`doc:${'a'}-${'b'}`).toThrow(LockOptionsError);
    expect(() => lockName`${'a'}${'b'}`).toThrow(/there must be a ":"/);
    expect(lockName`${'a'}:x:${'b'}-end`.escaped).toBe('a:x:b-end');
  });

  it('takes the literal word "undefined" and other odd ids as ordinary ids', () => {
    expect(lockName`doc:${'undefined'}`.escaped).toBe('doc:undefined');
    expect(lockName`doc:${'null'}`.escaped).toBe('doc:null');
    expect(lockName`doc:${'../../etc'}`.escaped).toBe('doc:../../etc');
    expect(lockName`doc:${'é'}`.escaped).not.toBe(lockName`doc:${'e\u0301'}`.escaped);
  });

  it('takes numbers, bigints and booleans', () => {
    expect(lockName`doc:${1001}:${2n}:${false}`.escaped).toBe('doc:1001:2:false');
  });

  it.each([undefined, null, {}, [], ['a'], NaN, Infinity, '', () => 'x', Symbol('x'), new Date()])(
    'refuses %p as a value',
    (bad) => {
      expect(() => escapeValue(bad, 'id')).toThrow(LockOptionsError);
      expect(() => LockName.join(['doc:', ''], [bad as string])).toThrow(LockOptionsError);
    },
  );

  it('refuses lone surrogates, which would all become the same key', () => {
    expect(() => lockName`doc:${'\ud800'}`).toThrow(/surrogate/);
    expect(() => LockName.of('doc:\udfff')).toThrow(/surrogate/);
  });

  it('has a limit of its own, before and after escaping', () => {
    expect(() => LockName.of('x'.repeat(MAX_NAME_LENGTH + 1))).toThrow(LockOptionsError);
    expect(() => LockName.of(' '.repeat(MAX_NAME_LENGTH))).toThrow(/when escaped/);
    expect(LockName.of('x'.repeat(MAX_NAME_LENGTH)).escaped).toHaveLength(MAX_NAME_LENGTH);
    expect(() => LockName.of('')).toThrow(/empty/);
    expect(() => LockName.of(7 as unknown as string)).toThrow(/must be a string/);
  });

  it('finds the family by which holds are summed up', () => {
    expect(nameFamily('doc:1:2')).toBe('doc');
    expect(nameFamily('nightly')).toBe('nightly');
  });
});
