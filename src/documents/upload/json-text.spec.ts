import { describe, expect, it } from '@jest/globals';
import { JsonText } from './json-text.js';

/** What is found in JSON that comes in parts of so many bytes. */
function read(json: string, partBytes: number) {
  const bytes = Buffer.from(json);
  const parser = new JsonText();
  let text = '';
  for (let at = 0; at < bytes.length; at += partBytes) {
    text += parser.push(bytes.subarray(at, at + partBytes));
  }
  return { text, frame: parser.frame(), hasText: parser.hasText };
}

describe('the text of a JSON upload', () => {
  const awkward = 'a "quote", a \\, a \n, \u0001, €, 😀 and {"text":"b"}';
  const escaped = JSON.stringify(awkward).replace('😀', String.raw`\ud83d\ude00`);

  it.each([1, 2, 3, 5, 7, 64, 10_000])('is the same in parts of %i bytes', (partBytes) => {
    for (const written of [JSON.stringify(awkward), escaped]) {
      const found = read(`{ "title" : "text", "text" : ${written}, "more": [1] }`, partBytes);
      expect(found.text).toBe(awkward);
      expect(JSON.parse(found.frame)).toEqual({ title: 'text', text: '', more: [1] });
      expect(found.hasText).toBe(true);
    }
  });

  it('is found under every spelling of its key, and nowhere but in the object itself', () => {
    expect(read(String.raw`{"te\u0078t":"a"}`, 4)).toMatchObject({ text: 'a', hasText: true });
    for (const json of [
      '{"a":{"text":"b"}}',
      '["text","b"]',
      '{"text":1}',
      '"text"',
      '{"a":"text"}',
    ]) {
      expect(read(json, 4)).toEqual({ text: '', frame: json, hasText: false });
    }
  });

  it('is refused where it is there twice, or is no JSON string', () => {
    expect(() => read('{"text":"a","text":"b"}', 4)).toThrow('twice');
    for (const json of [
      String.raw`{"text":"\x"}`,
      '{"text":"a\nb"}',
      String.raw`{"text":"\u12"}`,
    ]) {
      expect(() => read(json, 4)).toThrow('no valid JSON string');
    }
  });

  it('leaves what is cut off to the JSON parser', () => {
    const { frame } = read('{"title":"a","text":"b', 4);
    expect(() => JSON.parse(frame) as unknown).toThrow(SyntaxError);
  });

  it('may be long, and nothing else may', () => {
    const long = 'x'.repeat(2 ** 21);
    expect(read(`{"text":"${long}"}`, 65_536).text).toBe(long);
    expect(() => read(`{"title":"${long}"}`, 65_536)).toThrow('only "text" may be long');
  });
});
