import { randomInt } from 'node:crypto';

/** An address of `<first>.0.0.0/8`, at random, so that hardly ever two have the same within a minute. */
export function anyAddress(first: number): string {
  return [first, randomInt(256), randomInt(256), randomInt(256)].join('.');
}
