import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { ServiceRight } from '../../config/secrets/service-key.js';
import type { Session } from '../../events.js';

/** Credential that a route needs: none, a user's access token (the default), or a service key with a right. */
export type Access = 'public' | 'user' | ServiceRight;

export const ACCESS = 'latchkey:access';

/** The route needs no token (spec §5.5). */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(ACCESS, 'public' satisfies Access);

/** The route needs `Authorization: Bearer <service key>` (contract §4) with this right (§2, SERVICE_KEYS). */
export const ServiceKeyOnly = (right: ServiceRight): MethodDecorator & ClassDecorator =>
  SetMetadata(ACCESS, right satisfies Access);

export const KEY_AS_PASSWORD = 'latchkey:key-as-password';

/** The service key may also be the password of Basic, as introspecting clients send it (contract §4, RFC 7662 §2.1). */
export const OrAsPassword = (): MethodDecorator => SetMetadata(KEY_AS_PASSWORD, true);

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the guard on routes that need an access token. */
    session?: Session;
  }
}

/** Injects the session of the verified access token: `@Caller() caller: Session`. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  return context.switchToHttp().getRequest<{ session?: Session }>().session;
});
