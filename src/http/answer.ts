import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';

/**
 * The answer of a route: an instance of its class. Only those members of `from` (an entity, for example) are sent that the
 * class exposes (`@Expose()`, with `name` where `from` has another one), in the order of the class.
 *
 * Nest's ClassSerializerInterceptor makes an instance and then a plain object of that, under the names of `from` again. It
 * takes 12 µs in a loop and 30 to 70 µs in a busy service, where a push takes 170; this takes 2 to 5.
 */
export function answer<T>(type: Type<T>, from: object): T {
  return plainToInstance(type, from, { excludeExtraneousValues: true });
}
