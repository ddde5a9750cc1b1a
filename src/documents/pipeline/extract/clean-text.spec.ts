import { describe, expect, it } from '@jest/globals';
import { cleanPdfText } from './clean-text.js';

describe('the text of a PDF page', () => {
  it('has plain line ends, no NUL and no other controls, and keeps tabs', () => {
    expect(cleanPdfText('a\0b\r\nc\rd\fe\u0001\u0002\u001f\u007f\tf')).toBe('ab\nc\nd\ne\tf');
  });

  it('has the words whole that were hyphenated at a line end', () => {
    expect(cleanPdfText('the copy\ufffe\r\nright notice and per\ufffemission')).toBe(
      'the copyright notice and permission',
    );
  });

  it('is empty for a page of nothing but white space', () => {
    expect(cleanPdfText(' \r\n\t\0\u00a0\n')).toBe('');
  });
});
