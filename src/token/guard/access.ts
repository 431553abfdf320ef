import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { ServiceRight } from '../../config/secrets/service-key.js';
import type { Session } from '../../events.js';

/** Who may call a route: everybody, a user, or the holder of a service key with a right. One that says nothing: a user. */
export type Access = 'public' | 'user' | ServiceRight;

export const ACCESS = 'latchkey:access';

/** No token is asked for (spec §5.5). */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(ACCESS, 'public' satisfies Access);

/** `Authorization: Bearer <service key>` (contract §4), of a key with this right (§2, SERVICE_KEYS). */
export const ServiceKeyOnly = (right: ServiceRight): MethodDecorator & ClassDecorator =>
  SetMetadata(ACCESS, right satisfies Access);

export const KEY_AS_PASSWORD = 'latchkey:key-as-password';

/** The service key may come as the password of Basic, too, as clients send it that introspect (contract §4; RFC 7662 §2.1). */
export const OrAsPassword = (): MethodDecorator => SetMetadata(KEY_AS_PASSWORD, true);

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
