import { runInThisContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { keepParameters, parametersOf } from './parameter-names.js';

type AnyFunction = (...args: never[]) => unknown;

/** A function whose source is exactly `text`: the compiler of the tests would tidy it up. */
function method(text: string): AnyFunction {
  const object = runInThisContext(`({ ${text} })`) as Record<string, AnyFunction>;
  return Object.getOwnPropertyDescriptors(object)[Reflect.ownKeys(object)[0] as string]
    ?.value as AnyFunction;
}

function expression(text: string): AnyFunction {
  return runInThisContext(`(${text})`) as AnyFunction;
}

function names(fn: AnyFunction): string[] | undefined {
  return parametersOf(fn)?.map(({ name, isRest }) => `${isRest ? '...' : ''}${name ?? '{}'}`);
}

describe('parametersOf', () => {
  it.each([
    ['m() {}', []],
    ['m(id) {}', ['id']],
    ['m(id, dto,) {}', ['id', 'dto']],
    ['async m(id) {}', ['id']],
    ['*m(id) {}', ['id']],
    ['async *m(id) {}', ['id']],
    ['async(id) {}', ['id']],
    ['"a (strange) name"(id) {}', ['id']],
    ['[`computed${"(" + 1}`](id) {}', ['id']],
    ['42(id) {}', ['id']],
    ['m /* (no, not, this) */ ( /* id */ id // , x)\n , $dto_1 /*)*/ ) {}', ['id', '$dto_1']],
    ['m(id = "a,b)", dto) {}', ['id', 'dto']],
    ["m(id = 'it\\'s, )', dto) {}", ['id', 'dto']],
    ['m(id = `a,${[1, `)${"}"}`].join(",")})`, dto) {}', ['id', 'dto']],
    ['m(id = /[/,)]\\/"/g, dto) {}', ['id', 'dto']],
    ['m(id = 6 / 2, dto = "/" / 3) {}', ['id', 'dto']],
    ['m(id = [1, 2] / 2, dto = (3) / 1, last) {}', ['id', 'dto', 'last']],
    ['m(id = typeof /,\\)/, dto) {}', ['id', 'dto']],
    ['m(id = { a: 1, b: [2, 3] }, dto) {}', ['id', 'dto']],
    ['m(id = (a, b) => a, dto) {}', ['id', 'dto']],
    ['m(id = function (x, y) { return ")"; }, dto) {}', ['id', 'dto']],
    ['m(id = class { #p = 1; get(a, b) { return this.#p; } }, dto) {}', ['id', 'dto']],
    ['m({ id, a: { b } }, [c, d], dto) {}', ['{}', '{}', 'dto']],
    ['m({ id } = {}, dto) {}', ['{}', 'dto']],
    ['m(id, ...rest) {}', ['id', '...rest']],
    ['m(...[a, b]) {}', ['...{}']],
    ['m(größe, 文書) {}', ['größe', '文書']],
  ])('reads %s', (text, expected) => {
    expect(names(method(text))).toEqual(expected);
  });

  it.each([
    ['function (id) {}', ['id']],
    ['async function* named(id, dto) {}', ['id', 'dto']],
    ['id => id', ['id']],
    ['async id => id', ['id']],
    ['(id, dto = 1) => id', ['id', 'dto']],
    ['async (id) => id', ['id']],
    ['() => 1', []],
  ])('reads %s', (text, expected) => {
    expect(names(expression(text))).toEqual(expected);
  });

  it('reads methods of classes, static and private ones too', () => {
    const [inner, outer] = runInThisContext(
      '[class { #hidden(id) {} static get() { return new this().#hidden; } }.get(), class { static async m(dto) {} }.m]',
    ) as [AnyFunction, AnyFunction];
    expect(names(inner)).toEqual(['id']);
    expect(names(outer)).toEqual(['dto']);
  });

  it('is not led astray by anything that a default value or a comment can hold', () => {
    const noise = fc.constantFrom(
      '',
      '/* , ) */',
      '// , )\n',
      '/* `${" */',
      "/* ' */",
      '\n\t',
      '/**/ // /*\n',
    );
    const fallback = fc.constantFrom(
      '',
      '= 1',
      '= ")"',
      "= '\\',('",
      '= `${`)${1}`},`',
      '= /[)/,]+\\(\\//g',
      '= 4 / 2 / 1',
      '= [")", /,/]',
      '= { a: ",", b() { return /}/; } }',
      '= (a, b = ")") => a / b',
      '= async function* (x, y) { yield /\\)/; }',
      '= class { static s = ","; #p = 1; }',
      '= !/,/',
      '= typeof /[(]/',
      '= a?.[","]',
      '= (1, 2)',
      '= new.target',
      '= a => a / 2',
      '= void /,/ / 3',
    );
    const parameter = fc.record({
      pattern: fc.constantFrom(undefined, '{ x: { y = ")" } = {} }', '[, z = [","]]'),
      before: noise,
      between: noise,
      fallback,
      after: noise,
    });
    fc.assert(
      fc.property(
        fc.array(parameter, { maxLength: 5 }),
        fc.constantFrom('m', 'async m'),
        (list, head) => {
          const declared = list.map(
            ({ pattern, before, between, fallback: value, after }, index) =>
              // Patterns get names of their own, since a name may be declared once only.
              `${before}${pattern?.replace(/[yz]\b/, `v${index}`) ?? `p${index}`}${between}${value}${after}`,
          );
          const expected = list.map(({ pattern }, index) => (pattern ? '{}' : `p${index}`));
          expect(names(method(`${head}(${declared.join(',')}) {}`))).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('knows nothing of native and bound functions', () => {
    expect(parametersOf(Math.max)).toBeUndefined();
    expect(parametersOf(expression('(id) => id').bind(null))).toBeUndefined();
  });

  it('does not trust a reading that contradicts the length', () => {
    const odd = method('m(id, dto) {}');
    Object.defineProperty(odd, 'length', { value: 1 });
    expect(parametersOf(odd)).toBeUndefined();
  });

  it('looks through a wrapper that says whom it wraps', () => {
    const wrapper = expression('(...args) => args');
    keepParameters(method('m(id) {}'), wrapper);
    expect(names(wrapper)).toEqual(['id']);
  });
});
