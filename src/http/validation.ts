import { type Type, type ValidationError, ValidationPipe } from '@nestjs/common';
import { cutText } from './cut-text.js';

/** One reason why one field of a request was refused. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
}

// An answer is for people to read, however many fields were sent, and however they were named.
const maxErrors = 20;
const maxLength = 200;

/** A request whose fields are not as they must be; tells the first 20 mistakes, and how many more there are. */
export class ValidationFailedError extends Error {
  readonly code = 'validation_failed';

  /** What the problem's body says besides the usual. */
  readonly extension: { readonly errors: readonly FieldError[] };

  constructor(all: readonly FieldError[]) {
    const errors = all.slice(0, maxErrors).map(shortened);
    const more = all.length - errors.length;
    const messages = errors.map(({ message }) => message);
    super([...messages, ...(more > 0 ? [`and ${more} more`] : [])].join('; '));
    this.extension = { errors };
    this.name = 'ValidationFailedError';
  }
}

/** The pipe for every request: unknown fields are refused, and every mistake is reported with its field. */
export function requestValidation(): ValidationPipe {
  return new ValidationPipe({
    transform: true,
    whitelist: true,
    forbidNonWhitelisted: true,
    exceptionFactory: (errors) =>
      new ValidationFailedError(errors.flatMap((error) => fields(error))),
  });
}

/**
 * A value that only the handler can tell the class of, checked as the pipe would check it.
 * @throws ValidationFailedError
 */
export async function validated<T extends object>(type: Type<T>, value: unknown): Promise<T> {
  const checked: T = await requestValidation().transform(value, { type: 'body', metatype: type });
  return checked;
}

function fields(error: ValidationError, prefix = ''): FieldError[] {
  const field = prefix + error.property;
  const own = Object.values(error.constraints ?? {}).map((message) => ({ field, message }));
  return [...own, ...(error.children ?? []).flatMap((child) => fields(child, `${field}.`))];
}

function shortened({ field, message }: FieldError): FieldError {
  return { field: cutText(field, maxLength), message: cutText(message, maxLength) };
}
