import { type Type, type ValidationError, ValidationPipe } from '@nestjs/common';

/** One reason why one field of a request was refused. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/** A request whose fields are not as they must be. */
export class ValidationFailedError extends Error {
  readonly code = 'validation_failed';

  /** What the problem's body says besides the usual. */
  readonly extension: { readonly errors: readonly FieldError[] };

  constructor(errors: readonly FieldError[]) {
    super(errors.map(({ message }) => message).join('; '));
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
