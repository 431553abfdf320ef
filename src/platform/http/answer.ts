import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';

/**
 * Makes the answer of a route: the members that its class exposes (`@Expose()`), in the order of the class.
 * It replaces Nest's ClassSerializerInterceptor, which takes several times as long.
 *
 * @param from a row, for example
 */
export function answer<T>(type: Type<T>, from: object): T {
  return plainToInstance(type, from, { excludeExtraneousValues: true });
}
