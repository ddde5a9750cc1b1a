/** The archiver's name as a scheduled job; its mark belongs to this name for good. */
export const ARCHIVE_JOB = 'archive';
