/** There is no archive under this id. */
export class ArchiveNotFoundError extends Error {
  readonly code = 'archive_not_found';

  constructor(id: string) {
    super(`There is no archive "${id}". GET /archives lists them.`);
    this.name = 'ArchiveNotFoundError';
  }
}

/** An archive is not what was written. A fault: there is nothing that the client could do. */
export class ArchiveDamagedError extends Error {
  constructor(why: string, options?: ErrorOptions) {
    super(
      `The archive is damaged: ${why}. Restore its row from a backup of the database.`,
      options,
    );
    this.name = 'ArchiveDamagedError';
  }
}
