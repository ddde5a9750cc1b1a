import { BadRequestException } from '@nestjs/common';
import { type FastifyInstance, type FastifyRequest } from 'fastify';
import { FIELDS_LIMIT_BYTES } from './body-limits.js';
import { incomingBody } from './incoming-body.js';

// Enough for every request there is, and little enough for whoever walks through them more than once.
const maxValues = 1_000;
const maxDepth = 16;

/**
 * Reads JSON bodies: an empty one is undefined; `__proto__`, `constructor.prototype`, and more values or
 * levels than any request needs are refused with 400. Where a document is expected, JSON and forms are left
 * to the handler, unread. No other body is taken, so other media types get 415.
 */
export function useBodies(fastify: FastifyInstance): void {
  fastify.removeContentTypeParser(['application/json', 'text/plain']);
  fastify.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const { config, bodyLimit } = request.routeOptions;
    if (config.rules?.body === 'upload') return undefined;
    const parts: Buffer[] = [];
    for await (const part of incomingBody(request.raw, bodyLimit ?? FIELDS_LIMIT_BYTES)) {
      parts.push(part);
    }
    return parseJson(request, Buffer.concat(parts).toString());
  });
  fastify.addContentTypeParser('multipart/form-data', async () => undefined);
}

/** What JSON says, as every body of the service is read. @throws BadRequestException */
export async function parseJson(request: FastifyRequest, text: string): Promise<unknown> {
  if (text.trim() === '') return undefined;
  if (isTooMuch(text)) {
    const limits = `At most ${maxValues} values, in ${maxDepth} levels, are taken in a JSON body.`;
    throw new BadRequestException(limits);
  }
  return new Promise((resolve, reject) => {
    const parse = request.server.getDefaultJsonParser('error', 'error');
    void parse(request, text, (error, body: unknown) => {
      if (error) reject(new BadRequestException(error.message, { cause: error }));
      else resolve(body);
    });
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
