import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { LockOptionsError } from '../core/lock.errors.js';
import { compileTemplate } from './name-template.js';
import type { Parameter } from './parameter-names.js';

function parameters(...names: string[]): Parameter[] {
  return names.map((name) => ({
    name: name === '{}' ? undefined : name.replace('...', ''),
    isRest: name.startsWith('...'),
    hasDefault: false,
  }));
}

function compile(template: string, ...names: string[]) {
  const fill = compileTemplate(template, parameters(...names), 'Docs.process');
  return (...args: unknown[]) => fill(args).escaped;
}

class Dto {
  constructor(private readonly raw: string) {}
  get id() {
    return this.raw.trim();
  }
}

describe('compileTemplate', () => {
  it('fills in parameters by their names', () => {
    expect(compile('doc:<id>', 'id')('1001')).toBe('doc:1001');
    expect(compile('doc:<tenant>:<id>', 'id', 'x', 'tenant')('7', 0, 'acme')).toBe('doc:acme:7');
    expect(compile('nightly', 'id')('7')).toBe('nightly');
    expect(compile('<id>', 'id')(7)).toBe('7');
  });

  it('follows fields: own ones and getters', () => {
    const fill = compile('doc:<dto.id>', 'dto');
    expect(fill({ id: 'a' })).toBe('doc:a');
    expect(fill(new Dto(' b '))).toBe('doc:b');
    expect(fill(new (class extends Dto {})('c'))).toBe('doc:c');
    expect(compile('doc:<dto.owner.id>', 'dto')({ owner: { id: 3 } })).toBe('doc:3');
  });

  it('never takes what every object inherits', () => {
    const polluted = Object.create({ id: 'from a prototype' }) as object;
    expect(() => compile('doc:<dto.id>', 'dto')(polluted)).toThrow(/undefined/);
    expect(() => compile('doc:<dto.toString>', 'dto')({})).toThrow(LockOptionsError);
    for (const path of ['dto.__proto__', 'dto.constructor', 'dto.constructor.name', '__proto__']) {
      expect(() => compile(`doc:<${path}>`, 'dto')).toThrow(LockOptionsError);
    }
  });

  it.each([
    ['missing', []],
    ['undefined', [undefined]],
    ['null', [null]],
    ['an object', [{}]],
    ['an array', [['a']]],
    ['empty', ['']],
    ['not a number', [NaN]],
  ])('refuses a value that is %s, naming the placeholder and the method', (_what, args) => {
    const fill = compile('doc:<id>', 'id');
    expect(() => fill(...args)).toThrow(LockOptionsError);
    expect(() => fill(...args)).toThrow(/<id>.*Docs\.process/);
  });

  it('refuses a field of something that has none', () => {
    for (const dto of [undefined, null, 'text', 7]) {
      expect(() => compile('doc:<dto.length>', 'dto')(dto)).toThrow(/<dto\.length>/);
    }
  });

  it('takes the literal id "undefined" as an ordinary one', () => {
    expect(compile('doc:<id>', 'id')('undefined')).toBe('doc:undefined');
  });

  it('gives equal names to equal values only', () => {
    const id = fc.oneof(
      fc.string({ minLength: 1, maxLength: 20, unit: 'binary' }).filter((v) => !/\p{Cs}/u.test(v)),
      fc.stringMatching(/^[a:<>{}%]{1,6}$/),
    );
    const fill = compile('doc:<tenant>:<id>', 'tenant', 'id');
    fc.assert(
      fc.property(id, id, id, id, (a, b, c, d) => {
        expect(fill(a, b) === fill(c, d)).toBe(a === c && b === d);
      }),
    );
  });

  it.each([
    ['doc:<missing>', ['id', 'dto'], /<missing>.*has \(id, dto\).*misspelt, minified/],
    ['doc:<id>', ['{}', 'dto'], /destructured/],
    ['doc:<id>', ['...args'], /another decorator has already wrapped/],
    ['doc:<id>', [], /another decorator has already wrapped/],
    ['doc:<ids>', ['a', '...ids'], /a list cannot name a lock/],
    ['doc:<>', ['id'], /placeholder <>/],
    ['doc:<a b>', ['id'], /placeholder <a b>/],
    ['doc:<id', ['id'], /no ">"/],
    ['doc:id>', ['id'], /no "<"/],
    ['doc:<id><id>', ['id'], /there must be a ":"/],
    ['', ['id'], /must not be empty/],
  ])('refuses %s on (%s) where the class is defined', (template, names, message) => {
    expect(() => compile(template, ...names)).toThrow(LockOptionsError);
    expect(() => compile(template, ...names)).toThrow(message);
    expect(() => compile(template, ...names)).toThrow(/Docs\.process/);
  });

  it('points to the function form', () => {
    expect(() => compile('doc:<id>', '{}', 'dto')).toThrow('@WithLock(({…}, dto) => lockName`…`)');
    expect(() => compileTemplate('doc:<id>', undefined, 'Docs.process')).toThrow(
      /does not tell its parameters.*@WithLock\(\(\.\.\.args\) => lockName/,
    );
  });
});
