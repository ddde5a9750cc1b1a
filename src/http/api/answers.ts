import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiExtension,
  ApiExtraModels,
  ApiHeader,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { type LockProblemCode } from '../../lock/index.js';
import { type ProblemCode } from '../problem-kinds.js';

/** The code of any problem that the service answers with. */
export type AnyProblemCode = ProblemCode | LockProblemCode;

/** What the decorators leave in an operation for `describeApi`, which takes it out again. */
export const EXTENSIONS = {
  problems: 'x-problems',
  bodies: 'x-bodies',
} as const;

/** The class of a good answer, and how it is answered. */
export function Answers(type: Type, status = 200, description = 'Done.'): MethodDecorator {
  return ApiResponse({ status, type, description });
}

/** A good answer that is not JSON. */
export function AnswersAs(mediaType: string, description: string): MethodDecorator {
  const schema = { type: 'string', format: 'binary' } as const;
  return ApiResponse({ status: 200, description, content: { [mediaType]: { schema } } });
}

/** The problems of a route beside those that every route of its kind may have. */
export function Problems(...codes: readonly AnyProblemCode[]): MethodDecorator {
  return ApiExtension(EXTENSIONS.problems, codes);
}

/** The bodies that a route takes: a class for each media type. */
export function Takes(bodies: Readonly<Record<string, Type>>): MethodDecorator {
  const references = Object.entries(bodies).map(([mediaType, type]) => {
    return [mediaType, { schema: { $ref: getSchemaPath(type) } }] as const;
  });
  return applyDecorators(
    ApiExtraModels(...Object.values(bodies)),
    ApiExtension(EXTENSIONS.bodies, Object.fromEntries(references)),
  );
}

/** The route has `@Idempotent()`. */
export function TakesKey(): MethodDecorator {
  return ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: 'A value that is new for each operation; a repetition gets the first answer.',
    schema: { type: 'string', maxLength: 257 },
  });
}
