import { describe, expect, it } from '@jest/globals';
import {
  canonicalJson,
  fingerprintOf,
  recordId,
  type RequestIdentity,
  sha256,
} from './fingerprint.js';

const request: RequestIdentity = {
  principal: 'anyone',
  method: 'POST',
  route: '/documents/:id/questions',
  params: { id: 'a' },
  query: {},
  body: { question: 'é?', limit: 3, deep: { a: 1, b: [1, 2] } },
  files: [],
};
const file = { fieldname: 'file', originalname: 'a.txt', mimetype: 'text/plain' };
const print = (changed: Partial<RequestIdentity>) => fingerprintOf({ ...request, ...changed });

describe('the fingerprint of a request', () => {
  it('does not depend on the order of keys, on spaces or on escapes', () => {
    const text = '{ "deep" : {"b":[1,2.0], "a":1},\n "limit":3, "question":"\\u00e9?" }';
    expect(print({ body: JSON.parse(text) })).toBe(print({}));
    expect(print({ body: { ...(request.body as object), more: undefined } })).toBe(print({}));
  });

  it.each<[string, Partial<RequestIdentity>]>([
    ['the method', { method: 'PUT' }],
    ['the route', { route: '/documents/:id/process' }],
    ['a path parameter', { params: { id: 'b' } }],
    ['the query', { query: { a: '1' } }],
    ['a value', { body: { question: 'é?', limit: 4, deep: { a: 1, b: [1, 2] } } }],
    ['the order of a list', { body: { question: 'é?', limit: 3, deep: { a: 1, b: [2, 1] } } }],
    ['a type', { body: { question: 'é?', limit: '3', deep: { a: 1, b: [1, 2] } } }],
    ['no body', { body: undefined }],
    ['a file', { files: [{ ...file, sha256: sha256('x') }] }],
  ])('depends on %s', (_what, changed) => {
    expect(print(changed)).not.toBe(print({}));
  });

  it("depends on a file's bytes, name and type", () => {
    const prints = [
      { ...file, sha256: sha256('x') },
      { ...file, sha256: sha256('y') },
      { ...file, originalname: 'b.txt', sha256: sha256('x') },
      { ...file, mimetype: 'text/markdown', sha256: sha256('x') },
    ].map((each) => print({ files: [each] }));
    expect(new Set(prints).size).toBe(4);
  });

  it('cannot be forged by moving values from one place to another', () => {
    expect(canonicalJson({ a: '1,"b":2' })).not.toBe(canonicalJson({ a: '1', b: 2 }));
    expect(canonicalJson([['a'], 'b'])).not.toBe(canonicalJson(['a', ['b']]));
  });
});

describe('the record of a key', () => {
  it('is one per principal, route, path parameters and key', () => {
    const ids = [
      recordId(request, 'k'),
      recordId(request, 'k2'),
      recordId({ ...request, principal: 'somebody' }, 'k'),
      recordId({ ...request, route: '/documents' }, 'k'),
      recordId({ ...request, params: { id: 'b' } }, 'k'),
    ];
    expect(new Set(ids).size).toBe(5);
    expect(recordId({ ...request, body: 'other', query: { a: 1 } }, 'k')).toBe(ids[0]);
  });
});
