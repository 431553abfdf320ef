import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { Session } from '../events.js';

/** Who may call a route. A route that says nothing needs a user's access token. */
export type Access = 'public' | 'user' | 'service';

export const ACCESS = 'latchkey:access';

/** No token is asked for (spec §5.5). */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(ACCESS, 'public' satisfies Access);

/** `Authorization: Bearer <service key>` (contract §4). */
export const ServiceKeyOnly = (): MethodDecorator & ClassDecorator =>
  SetMetadata(ACCESS, 'service' satisfies Access);

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the guard on routes that need a user's access token. */
    session?: Session;
  }
}

/** The session of the caller's access token, as the guard has verified it: `@Caller() caller: Session`. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  return context.switchToHttp().getRequest<{ session?: Session }>().session;
});
