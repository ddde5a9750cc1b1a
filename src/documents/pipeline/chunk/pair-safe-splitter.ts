import { RecursiveCharacterTextSplitter } from '@langchain/textsplitters';

/** The recursive splitter, except that its last resort, single characters, keeps surrogate pairs whole. */
export class PairSafeSplitter extends RecursiveCharacterTextSplitter {
  protected override splitOnSeparator(text: string, separator: string): string[] {
    return separator === '' ? Array.from(text) : super.splitOnSeparator(text, separator);
  }
}
