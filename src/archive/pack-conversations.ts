import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Conversation } from '../conversations/index.js';

const compress = promisify(gzip);

/** Conversations as an archive keeps them. */
export interface PackedConversations {
  /** JSON lines, compressed. */
  readonly gzip: Buffer;
  /** The length of the JSON lines, in bytes. */
  readonly sizeBytes: number;
  /** The SHA-256 of the JSON lines, in hex. */
  readonly sha256: string;
}

/** One JSON line per conversation, compressed off the main thread. */
export async function packConversations(
  conversations: readonly Conversation[],
): Promise<PackedConversations> {
  const lines = conversations.map((conversation) => `${JSON.stringify(conversation)}\n`).join('');
  const bytes = Buffer.from(lines);
  return {
    gzip: await compress(bytes),
    sizeBytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}
