import { createHash, randomUUID } from 'node:crypto';
import { PIECE_BYTES, type StagedContent } from './content.js';
import { type ContentsRepository } from './contents.repository.js';

/** How many bytes of the beginning are kept, for whoever wants to see what it is. */
const HEAD_BYTES = 16;
const MIN_PIECE_BYTES = 16 * 1024;

/**
 * A content on its way into the store: hashed, cut and stored as it comes in, so that it takes the memory
 * of one piece. What is no larger than that is stored with its document, and leaves nothing before.
 */
export class ContentWriter {
  readonly id = randomUUID();
  /** The first bytes, as far as they have come. */
  head = Buffer.alloc(0);
  private readonly hash = createHash('sha256');
  private piece = Buffer.alloc(0);
  private filled = 0;
  private sizeBytes = 0;
  private storedPieces = 0;

  constructor(private readonly contents: ContentsRepository) {}

  /** Takes the next bytes, which may be used again when it resolves. One call at a time. @throws UploadExpiredError */
  async write(bytes: Uint8Array): Promise<void> {
    this.hash.update(bytes);
    this.sizeBytes += bytes.length;
    if (this.head.length < HEAD_BYTES) {
      this.head = Buffer.concat([this.head, bytes.subarray(0, HEAD_BYTES - this.head.length)]);
    }
    for (let at = 0; at < bytes.length;) {
      if (this.filled === PIECE_BYTES) await this.store();
      const part = bytes.subarray(at, at + PIECE_BYTES - this.filled);
      this.makeRoom(this.filled + part.length);
      this.piece.set(part, this.filled);
      this.filled += part.length;
      at += part.length;
    }
  }

  /** Ends the content; it waits for its document to be published. */
  end(): StagedContent {
    const { id, sizeBytes, storedPieces } = this;
    const lastPiece = this.piece.subarray(0, this.filled);
    return { id, sizeBytes, sha256: this.hash.digest('hex'), storedPieces, lastPiece };
  }

  /** Removes what has been stored, unless it was published. */
  async discard(): Promise<void> {
    if (this.storedPieces > 0) await this.contents.discard(this.id);
  }

  /** Twice as much each time, so that many small documents do not take whole pieces. */
  private makeRoom(bytes: number): void {
    if (bytes <= this.piece.length) return;
    const larger = Buffer.allocUnsafeSlow(
      Math.min(Math.max(2 * bytes, MIN_PIECE_BYTES), PIECE_BYTES),
    );
    this.piece.copy(larger, 0, 0, this.filled);
    this.piece = larger;
  }

  private async store(): Promise<void> {
    const seq = this.storedPieces;
    this.storedPieces += 1; // it may be stored even where that fails
    await this.contents.append(this.id, seq, this.piece);
    this.filled = 0;
  }
}
