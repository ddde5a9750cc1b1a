import { BadRequestException } from '@nestjs/common';
import { type FastifyInstance } from 'fastify';

// Enough for every request there is, and little enough for whoever walks through them more than once.
const maxValues = 1_000;
const maxDepth = 16;

/**
 * Reads JSON bodies: an empty one is undefined; `__proto__`, `constructor.prototype`, and more values or
 * levels than any request needs are refused with 400. No other body is parsed here, so other media types
 * get 415.
 */
export function useJsonBodies(fastify: FastifyInstance): void {
  const parse = fastify.getDefaultJsonParser('error', 'error');
  fastify.removeContentTypeParser(['application/json', 'text/plain']);
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const text = body.toString();
    if (text.trim() === '') done(null, undefined);
    else if (isTooMuch(text)) {
      const limits = `At most ${maxValues} values, in ${maxDepth} levels, are taken in a JSON body.`;
      done(new BadRequestException(limits));
    } else return parse(request, text, done);
  });
}

/**
 * Whether JSON has too many values or levels, found out without making any of them: validation takes
 * quadratic time in the keys, and recurses. Costs one pass, which ends where it is too much; what is no
 * JSON is left to the parser.
 */
function isTooMuch(json: string): boolean {
  const marks = /["[\]{},]/g;
  let values = 1;
  let depth = 0;
  // A key, two brackets and a comma: no value has more marks, so what has is no JSON or too many values.
  for (let seen = 0; seen <= 4 * maxValues; seen += 1) {
    const found = marks.exec(json);
    if (!found) return false;
    const [mark] = found;
    if (mark === '"') marks.lastIndex = endOfString(json, marks.lastIndex);
    if (mark === ']' || mark === '}') depth -= 1;
    if (mark === '[' || mark === '{') depth += 1;
    if (mark === '[' || mark === '{' || mark === ',') values += 1;
    if (values > maxValues || depth > maxDepth) return true;
  }
  return true;
}

/** Behind the quote that ends the string whose content begins at `from`. */
function endOfString(json: string, from: number): number {
  let at = from;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at + 1;
}
