import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Public } from './access.js';
import { JwtGuard } from './jwt.guard.js';

/** A method of two controllers, of which one is public. */
function method(): void {}
@Public()
class Open {}
class Closed {}

describe('what a route declares', () => {
  const refused = new Error('refused');
  const tokens = { verify: () => Promise.reject(refused) };
  const request = { headers: { authorization: 'Bearer a' } };
  const contextOf = (controller: object) =>
    ({
      getHandler: () => method,
      getClass: () => controller,
      switchToHttp: () => ({ getRequest: () => request }),
    }) as unknown as ExecutionContext;

  it.each([
    ['the public one first', [Open, Closed]],
    ['the other one first', [Closed, Open]],
  ])('is remembered for its controller alone: %s', async (_name, controllers) => {
    const guard = new JwtGuard(new Reflector(), tokens as never, {} as never, {} as never, {} as never);
    for (const controller of [...controllers, ...controllers]) {
      const decision = guard.canActivate(contextOf(controller));
      if (controller === Open) expect(decision).toBe(true);
      else await expect(decision).rejects.toBe(refused);
    }
  });
});
