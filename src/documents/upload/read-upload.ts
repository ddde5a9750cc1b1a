import { validated } from '../../http/index.js';
import { MissingFileError, UnsupportedUploadError } from '../documents.errors.js';
import { FormUpload } from '../dto/form-upload.dto.js';
import { JsonUpload } from '../dto/json-upload.dto.js';
import { mediaTypeOf } from './media-type.js';
import { type ReceivedUpload } from './received-upload.js';
import { tidyTitle, type Upload } from './upload.js';

/**
 * The document that was received.
 * @throws UnsupportedUploadError, MissingFileError, or the error of a failed validation
 */
export async function readUpload(received: ReceivedUpload | undefined): Promise<Upload> {
  if (received === undefined) throw new UnsupportedUploadError('The request has no content type.');
  return received.kind === 'form' ? fromForm(received) : fromJson(received);
}

async function fromForm({ fields, file }: ReceivedUpload): Promise<Upload> {
  const { title } = await validated(FormUpload, fields);
  if (!file) throw new MissingFileError();
  const { originalname, mimetype, head, content } = file;
  const mediaType = mediaTypeOf(mimetype, originalname, head);
  return { title: tidyTitle(title ?? originalname, 'Untitled'), mediaType, content };
}

async function fromJson({ fields, file }: ReceivedUpload): Promise<Upload> {
  const { title } = await validated(JsonUpload, fields ?? {});
  if (!file) throw new Error('The text of a valid JSON upload was not received.');
  return { title: tidyTitle(title, 'Untitled'), mediaType: 'text/plain', content: file.content };
}
