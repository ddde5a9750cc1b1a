import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ArchiveDamagedError } from './archives.errors.js';
import { type PackedConversations } from './pack-conversations.js';

const decompress = promisify(gunzip);

/**
 * The JSON lines of an archive, compared with their checksum before anybody gets a byte: a damaged
 * archive never passes for a whole one. An archive holds one batch, so it fits into memory.
 * @throws ArchiveDamagedError
 */
export async function unpackArchive({ gzip, sha256 }: PackedConversations): Promise<Buffer> {
  const lines = await decompress(gzip).catch((cause: unknown) => {
    throw new ArchiveDamagedError('it cannot be decompressed', { cause });
  });
  const found = createHash('sha256').update(lines).digest('hex');
  if (found !== sha256) throw new ArchiveDamagedError(`its content has the checksum ${found}`);
  return lines;
}
