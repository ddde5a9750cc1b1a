import { BadRequestException, PayloadTooLargeException } from '@nestjs/common';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [openers, closers] = [Buffer.from('{['), Buffer.from('}]')];
const [COMMA, COLON, LOWER_U] = Buffer.from(',:u');
const blanks = Buffer.from(' \t\r\n');
/** What a key may be written as at most: every character as an escape. */
const MAX_KEY_BYTES = 64;

/** What a JSON upload may hold beside its text. */
export const MAX_FRAME_BYTES = 2 ** 20;

/**
 * Takes the string `text` out of a JSON object while that comes in, so that a large text is never there as a
 * whole. What is left, the frame, is valid JSON exactly if the object was, with an empty text in it.
 */
export class JsonText {
  /** Whether the object has a string under `text`. */
  hasText = false;
  private readonly frameParts: Buffer[] = [];
  private frameBytes = 0;
  private depth = 0;
  /** The last byte outside of strings that is no white space. */
  private last = 0;
  private string: 'key' | 'value' | 'text' | null = null;
  private key: number[] = [];
  /** How many bytes of an escape are still to come; a backslash alone does not tell. */
  private escape = 0;
  private isAfterBackslash = false;
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  private undecoded = Buffer.alloc(0);
  private half = '';

  /**
   * Takes the next bytes and gives what they say of the text.
   * @throws BadRequestException for what is no JSON string, PayloadTooLargeException for the frame
   */
  push(bytes: Buffer): string {
    let text = '';
    let from = 0;
    let escapeAt = -1;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      if (this.string === null) {
        if (byte === QUOTE) {
          this.string = this.kindOfString();
          if (this.string === 'key') this.key = [];
          if (this.string === 'text') {
            this.keepFrame(bytes.subarray(from, at + 1));
            from = at + 1;
          }
        } else this.outside(byte);
      } else if (this.isAfterBackslash) {
        this.isAfterBackslash = false;
        this.escape = byte === LOWER_U ? 4 : 0;
        this.noteKey(byte);
      } else if (byte === BACKSLASH) {
        this.isAfterBackslash = true;
        escapeAt = at;
        this.noteKey(byte);
      } else if (byte === QUOTE) {
        if (this.string === 'text') {
          text += this.decode(bytes.subarray(from, at), true);
          from = at;
        }
        this.last = QUOTE;
        this.string = null;
        this.escape = 0;
      } else {
        if (this.escape > 0) this.escape -= 1;
        this.noteKey(byte);
      }
    }
    if (this.string !== 'text') this.keepFrame(bytes.subarray(from));
    else {
      const isCut = this.isAfterBackslash || this.escape > 0;
      // An escape that began in an earlier part is held back already.
      const to = !isCut ? bytes.length : escapeAt === -1 ? from : escapeAt;
      if (to > from) text += this.decode(bytes.subarray(from, to), false);
      this.undecoded = Buffer.concat([this.undecoded, bytes.subarray(to)]);
    }
    return text;
  }

  /** The object as JSON, without its text. */
  frame(): string {
    return Buffer.concat(this.frameParts).toString();
  }

  private outside(byte: number): void {
    if (openers.includes(byte)) this.depth += 1;
    if (closers.includes(byte)) this.depth -= 1;
    if (!blanks.includes(byte)) this.last = byte;
  }

  private kindOfString(): 'key' | 'value' | 'text' {
    if (this.depth !== 1) return 'value';
    if (this.last === openers[0] || this.last === COMMA) return 'key';
    if (this.last !== COLON || !this.isTextKey()) return 'value';
    if (this.hasText) throw new BadRequestException('The field "text" is there twice.');
    this.hasText = true;
    return 'text';
  }

  private isTextKey(): boolean {
    try {
      return JSON.parse(`"${Buffer.from(this.key).toString()}"`) === 'text';
    } catch {
      return false; // the frame is no JSON either, and is refused as a whole
    }
  }

  private noteKey(byte: number): void {
    if (this.string === 'key' && this.key.length <= MAX_KEY_BYTES) this.key.push(byte);
  }

  private keepFrame(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.frameBytes += bytes.length;
    if (this.frameBytes > MAX_FRAME_BYTES) {
      throw new PayloadTooLargeException('Request body is too large: only "text" may be long');
    }
    this.frameParts.push(Buffer.from(bytes));
  }

  /** A part of the text that ends with no escape in it cut in two. */
  private decode(bytes: Buffer, isLast: boolean): string {
    const raw = Buffer.concat([this.undecoded, bytes]);
    this.undecoded = Buffer.alloc(0);
    const written = this.decoder.decode(raw, { stream: !isLast });
    const text = this.half + unescaped(written);
    this.half = !isLast && endsWithHalf(text) ? text.slice(-1) : '';
    return this.half === '' ? text : text.slice(0, -1);
  }
}

function unescaped(written: string): string {
  try {
    return String(JSON.parse(`"${written}"`));
  } catch {
    throw new BadRequestException('The field "text" is no valid JSON string.');
  }
}

/** Whether the first half of a surrogate pair stands at the end. */
function endsWithHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
