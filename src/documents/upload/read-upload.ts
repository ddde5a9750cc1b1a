import { type UploadedMultipartFile } from '@nestjs/platform-fastify/multipart';
import { FormUpload } from '../dto/form-upload.dto.js';
import { JsonUpload } from '../dto/json-upload.dto.js';
import { MissingFileError, UnsupportedUploadError } from '../documents.errors.js';
import { validated } from '../../http/index.js';
import { mediaTypeOf } from './media-type.js';
import { tidyTitle, type Upload } from './upload.js';

/** What the request brought: a form's file and fields, or a JSON body. */
export interface IncomingUpload {
  readonly contentType: string | undefined;
  readonly file: UploadedMultipartFile | undefined;
  readonly body: unknown;
}

/**
 * The document in a request.
 * @throws UnsupportedUploadError, MissingFileError, or the error of a failed validation
 */
export async function readUpload({ contentType, file, body }: IncomingUpload): Promise<Upload> {
  if (contentType === undefined)
    throw new UnsupportedUploadError('The request has no content type.');
  return contentType.toLowerCase().startsWith('multipart/form-data')
    ? fromForm(file, await validated(FormUpload, body ?? {}))
    : fromJson(await validated(JsonUpload, body ?? {}));
}

function fromForm(file: UploadedMultipartFile | undefined, { title }: FormUpload): Upload {
  if (!file?.buffer) throw new MissingFileError();
  return {
    title: tidyTitle(title ?? file.originalname, 'Untitled'),
    mediaType: mediaTypeOf(file.mimetype, file.originalname, file.buffer),
    bytes: file.buffer,
  };
}

function fromJson({ title, text }: JsonUpload): Upload {
  return {
    title: tidyTitle(title, 'Untitled'),
    mediaType: 'text/plain',
    bytes: Buffer.from(text.replaceAll('\0', '')),
  };
}
