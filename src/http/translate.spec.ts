import { describe, expect, it } from '@jest/globals';
import { HttpException, PayloadTooLargeException } from '@nestjs/common';
import { PROBLEM_KINDS } from './problem-kinds.js';
import { translate } from './translate.js';
import { ValidationFailedError } from './validation.js';

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

describe('the translation of errors', () => {
  it('answers a feature by its code, with its message', () => {
    expect(translate(coded('document_not_found', 'There is no document "7".')).body).toEqual({
      type: 'urn:doclock:problem:document_not_found',
      title: 'There is no such document',
      status: 404,
      code: 'document_not_found',
      detail: 'There is no document "7".',
    });
  });

  it('says nothing of a fault but that there was one', () => {
    for (const fault of [
      new Error('password=x'),
      coded('ECONNREFUSED', 'password=x'),
      'password=x',
      coded('toString', 'password=x'),
    ]) {
      const { body } = translate(fault);
      expect(body).toMatchObject({ status: 500, code: 'internal_error' });
      expect(JSON.stringify(body)).not.toContain('password');
    }
  });

  it('keeps a fence out of the answer to a lost lease', () => {
    const { body, retryAfterSeconds } = translate(coded('lease_lost', 'fence 1764000000000000'));
    expect(body).toMatchObject({ status: 503, code: 'lease_lost' });
    expect(JSON.stringify(body)).not.toContain('1764');
    expect(retryAfterSeconds).toBe(1);
  });

  it('answers the framework by status, with the nearest code where the status has none of its own', () => {
    expect(translate(new PayloadTooLargeException('too big')).body).toMatchObject({
      status: 413,
      code: 'payload_too_large',
      detail: 'too big',
    });
    expect(translate(new HttpException('a teapot', 418)).body).toMatchObject({
      status: 400,
      code: 'bad_request',
    });
    expect(translate(new HttpException('secret cause', 502)).body).toMatchObject({
      status: 500,
      code: 'internal_error',
      detail: PROBLEM_KINDS.internal_error.detail,
    });
  });

  it('lists the fields that failed', () => {
    const errors = [{ field: 'title', message: 'title must be a string' }];
    expect(translate(new ValidationFailedError(errors)).body).toMatchObject({
      status: 400,
      errors,
    });
  });
});
