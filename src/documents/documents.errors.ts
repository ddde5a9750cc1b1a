/** There is no document under this id (any more). */
export class DocumentNotFoundError extends Error {
  readonly code = 'document_not_found';

  constructor(id: string) {
    super(`There is no document "${id}". Upload it first: PUT /documents/${id}.`);
    this.name = 'DocumentNotFoundError';
  }
}

/** What was sent is no document that the service can take. */
export class UnsupportedUploadError extends Error {
  readonly code = 'unsupported_media_type';

  constructor(why: string) {
    super(
      `${why} Send a PDF, plain text or Markdown file as multipart/form-data, or JSON with title and text.`,
    );
    this.name = 'UnsupportedUploadError';
  }
}

/** A form without the document in it. */
export class MissingFileError extends Error {
  readonly code = 'bad_request';

  constructor() {
    super('The form holds no file. Send the document as the part "file".');
    this.name = 'MissingFileError';
  }
}
