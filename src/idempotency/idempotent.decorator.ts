import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { RESPONSE_PASSTHROUGH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { IdempotentInterceptor } from './idempotent.interceptor.js';
import { IDEMPOTENT_ROUTE, type IdempotentOptions } from './idempotent-route.js';

/**
 * Has a handler's work done once per `Idempotency-Key`: a repetition gets the kept answer, with
 * `Idempotency-Replayed: true`. A stream, bytes, or a body above 256 KiB is not kept; the header
 * `Idempotency-Stored: false` says so, and a repetition does the work again. Write it above
 * `@UseInterceptors(FileInterceptor(…))`: it must know the form.
 * @throws Error, at once, on a handler that ends the response itself (`@Res()` without passthrough)
 */
export function Idempotent(options: IdempotentOptions = {}): MethodDecorator {
  const decorate = applyDecorators(
    SetMetadata(IDEMPOTENT_ROUTE, options),
    UseInterceptors(IdempotentInterceptor),
  );
  return (target, name, descriptor) => {
    if (endsResponse(target.constructor, name)) {
      throw new Error(
        `@Idempotent() cannot know the answer of ${target.constructor.name}.${String(name)}, which takes @Res() and ends the response itself. Return the answer, and take @Res({ passthrough: true }).`,
      );
    }
    return decorate(target, name, descriptor);
  };
}

function endsResponse(type: object, name: string | symbol): boolean {
  const own: object = Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name) ?? {};
  const taken = [`${RouteParamtypes.RESPONSE}:`, `${RouteParamtypes.NEXT}:`];
  return (
    Object.keys(own).some((key) => taken.some((start) => key.startsWith(start))) &&
    Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, type, name) !== true
  );
}
