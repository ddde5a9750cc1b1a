import { describe, expect, it } from '@jest/globals';
import { mediaTypeOf } from './media-type.js';

const pdf = Buffer.from('%PDF-1.7\n');
const text = Buffer.from('hello');

describe('the media type of an upload', () => {
  it.each([
    ['application/pdf', 'x', pdf, 'application/pdf'],
    ['Text/Plain; charset=utf-8', 'x.pdf', text, 'text/plain'],
    ['text/markdown', '', text, 'text/markdown'],
    ['application/octet-stream', 'a.PDF', pdf, 'application/pdf'],
    ['application/octet-stream', 'a.b.md', text, 'text/markdown'],
    ['application/octet-stream', 'notes.txt', text, 'text/plain'],
  ])('is, declared as %s and named %j, known', (declared, name, bytes, type) => {
    expect(mediaTypeOf(declared, name, bytes)).toBe(type);
  });

  it.each([
    ['application/pdf', 'x.pdf', text, 'does not begin with "%PDF-"'],
    ['application/octet-stream', 'x.pdf', Buffer.alloc(0), 'does not begin with "%PDF-"'],
    ['image/png', 'x.pdf', pdf, 'Files of type "image/png"'],
    ['application/octet-stream', 'x', text, 'no extension'],
    ['application/octet-stream', 'x.exe', text, '.exe'],
    ['', 'x.txt', text, 'Files of type ""'],
  ])('is refused when declared as %s and named %j', (declared, name, bytes, why) => {
    expect(() => mediaTypeOf(declared, name, bytes)).toThrow(why);
  });
});
