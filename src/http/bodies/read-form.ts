import { once } from 'node:events';
import { type IncomingHttpHeaders } from 'node:http';
import { type Readable } from 'node:stream';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { BadRequestException, PayloadTooLargeException } from '@nestjs/common';

/** What a form says of its file. */
export interface FormFile {
  readonly fieldName: string;
  readonly fileName: string;
  /** As it was declared. */
  readonly mediaType: string;
}

/** What a form may hold. */
export interface FormLimits {
  /** The one field that may carry a file. */
  readonly fileField: string;
  readonly maxFileBytes: number;
  readonly maxFields: number;
  readonly maxFieldBytes: number;
  readonly maxFieldNameLength: number;
}

/** A form as it comes in. */
export interface IncomingForm {
  readonly headers: IncomingHttpHeaders;
  readonly body: AsyncIterable<Buffer>;
  /** Takes the file while it comes in, or throws; called once at most. */
  readonly onFile: (file: FormFile, bytes: Readable) => Promise<void>;
}

/**
 * Reads a form with at most one file, no faster than the file is taken. @fastify/busboy itself, since
 * @fastify/multipart keeps parts that nobody has asked for yet, and reads a form that is refused to its end.
 * @returns the fields
 * @throws BadRequestException, PayloadTooLargeException for the file, what the body or `onFile` throws
 */
export async function readForm(
  { headers, body, onFile }: IncomingForm,
  limits: FormLimits,
): Promise<Record<string, string>> {
  const fields: Record<string, string> = {};
  const form = parserOf(headers, limits);
  let file: Promise<void> | undefined;
  let failure: unknown;
  const failed = new Promise<never>((_, fail) => {
    const reject = (error: unknown) => {
      failure ??= error;
      fail(error);
    };
    const refuse = (why: string) => reject(new BadRequestException(why));
    form.on('partsLimit', () => refuse('Too many parts'));
    form.on('filesLimit', () => refuse('Too many files'));
    form.on('fieldsLimit', () => refuse('Too many fields'));
    form.on('error', () => refuse('Multipart: Unexpected end of form'));
    form.on('field', (name: string | undefined, value, _nameIsCut, valueIsCut) => {
      if (name === undefined) refuse('Field name missing');
      else if (name in Object.prototype) refuse('Invalid field name');
      else if (name.length > limits.maxFieldNameLength) refuse('Field name too long');
      else if (valueIsCut) refuse(`Field value too long - ${name}`);
      else fields[name] = value;
    });
    form.on('file', (fieldName, bytes, fileName: string | undefined, _encoding, mediaType) => {
      bytes.on('error', () => refuse('Multipart: Unexpected end of form'));
      bytes.on('limit', () => reject(new PayloadTooLargeException('File too large')));
      if (fieldName !== limits.fileField) refuse(`Unexpected file field - ${fieldName}`);
      else {
        file = onFile({ fieldName, fileName: unescaped(fileName ?? ''), mediaType }, bytes);
        file.catch(reject);
      }
    });
  });
  failed.catch(() => undefined); // it may fail when nobody looks any more
  try {
    for await (const part of body) {
      if (!form.write(part)) await Promise.race([once(form, 'drain'), failed]);
      if (failure !== undefined) throw failure;
    }
    const finished = once(form, 'finish');
    form.end();
    await Promise.race([finished, failed]);
    await Promise.race([file, failed]);
    return fields;
  } finally {
    form.destroy();
  }
}

function parserOf(headers: IncomingHttpHeaders, limits: FormLimits): BusboyInstance {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a form has a content type
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: {
        files: 1,
        fields: limits.maxFields,
        parts: 1 + limits.maxFields,
        fileSize: limits.maxFileBytes,
        fieldSize: limits.maxFieldBytes,
      },
    });
  } catch (cause) {
    throw new BadRequestException('Multipart: Boundary not found', { cause });
  }
}

/** A name as browsers write it. */
function unescaped(name: string): string {
  return name.replace(/%0A|%0D|%22/gi, (mark) => decodeURIComponent(mark));
}
