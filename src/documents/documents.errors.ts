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

/** A client follows as many documents as one client may. */
export class StreamLimitError extends Error {
  readonly code = 'stream_limit';

  constructor(max: number) {
    super(`One client may have ${max} event streams at once. Close one, and open this one then.`);
    this.name = 'StreamLimitError';
  }
}

/** The replica has as many event streams as it may. */
export class StreamsFullError extends Error {
  readonly code = 'streams_full';

  constructor() {
    super(
      'This replica has as many event streams as it takes. Look at the document itself instead.',
    );
    this.name = 'StreamsFullError';
  }
}
