import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { ServiceRight } from '../config/secrets/service-key.js';
import type { SessionIds } from '../events.js';

/** Credential of a route: none, an access token (default), one that a proxy passes on, or rights. */
export type Access = 'public' | 'user' | 'forwarded' | RightsNeeded;

export interface RightsNeeded {
  /** One of them is enough. */
  readonly rights: readonly ServiceRight[];
  /** Whether a user to whom a feature grants a right may call the route, as well as a service key. */
  readonly orPerson: boolean;
  /** Whether the key may be the password of Basic, as introspecting clients send it (RFC 7662 §2.1). */
  readonly asPassword?: boolean;
  /**
   * Whether an API with tokens of its own may call the route with its key; the route restricts what it gets.
   */
  readonly ofAudience?: boolean;
}

export const ACCESS = 'latchkey:access';

/** The route needs no token (spec §5, 5). */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(ACCESS, 'public' satisfies Access);

/**
 * The route is for reverse proxies, which pass on a user's access token. An invalid one does not count for
 * the address, which is the proxy's, and a valid one is no use of the session.
 * @public
 */
export const ForwardedToken = (): MethodDecorator & ClassDecorator =>
  SetMetadata(ACCESS, 'forwarded' satisfies Access);

/** The route needs a service key with this right as bearer token (docs/production.md#service-keys). */
export const ServiceKeyOnly = (
  right: ServiceRight,
  { asPassword = false, ofAudience = false } = {},
): MethodDecorator & ClassDecorator =>
  SetMetadata(ACCESS, { rights: [right], orPerson: false, asPassword, ofAudience } satisfies Access);

/** The route needs one of these rights, of a service key or of a user to whom a feature grants it. */
export const Requires = (...rights: readonly ServiceRight[]): MethodDecorator & ClassDecorator =>
  SetMetadata(ACCESS, { rights, orPerson: true } satisfies Access);

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the guard if the caller is a user. */
    session?: SessionIds;
    /** Set by the guard if the caller is an API with tokens of its own. */
    audience?: string;
  }
}

/** Injects the session of the verified access token: `@Caller() caller: Session`. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  return context.switchToHttp().getRequest<{ session?: SessionIds }>().session;
});
