import type { MiddlewareHandler } from 'hono';
import { LatchkeyError } from './latchkey-error.js';
import type { ProtectedResourceOptions } from './protected-resource.js';
import * as requirements from './requirements.js';
import type { Claims } from './token/token-signature.js';
import type { Authenticator, Verifier } from './verifier.js';

declare module 'hono' {
  interface ContextVariableMap {
    /** Claims of the caller's access token, after `authenticate()`. */
    claims: Claims;
  }
}

/**
 * Creates a middleware for Hono: it sets `claims` of the context, or answers with the `LatchkeyError`.
 *
 * @example
 * app.use(authenticate(latchkey));
 * app.get('/api/me', (c) => c.json({ userId: c.get('claims').sub }));
 */
export function authenticate(verifier: Authenticator): MiddlewareHandler {
  return async (context, next) => {
    try {
      context.set('claims', await verifier.authenticate(context.req.raw));
    } catch (error) {
      if (error instanceof LatchkeyError) return error.toResponse();
      throw error;
    }
    return next();
  };
}

/**
 * Creates a middleware for Hono that lets in users with one of the roles, after `authenticate()`; others get 403.
 *
 * @example
 * app.delete('/api/orders/:id', requireRole('admin'), removeOrder);
 */
export function requireRole(...roles: Parameters<typeof requirements.requireRole>): MiddlewareHandler {
  return check(requirements.requireRole(...roles));
}

/**
 * Creates a middleware for Hono that lets in users with a claim of this value, or a list that contains it, after `authenticate()`.
 *
 * @example
 * app.use('/api/reports/*', requireClaim('plan', 'pro'));
 */
export function requireClaim(...claim: Parameters<typeof requirements.requireClaim>): MiddlewareHandler {
  return check(requirements.requireClaim(...claim));
}

/**
 * Creates a middleware for Hono that lets in programs with all of the scopes, and the application's own pages, after `authenticate()`; others get
 * 403 with the scopes to ask for.
 *
 * @example
 * app.use('/mcp/orders', requireScope('orders:read'));
 */
export function requireScope(...scopes: Parameters<typeof requirements.requireScope>): MiddlewareHandler {
  return check(requirements.requireScope(...scopes));
}

/**
 * Creates a middleware for Hono that declares an API for programs of third parties, and answers requests for its metadata (RFC 9728). It comes
 * before `authenticate()`, for all paths.
 *
 * @example
 * app.use(protectedResource(latchkey, { resource: 'https://api.example.com/mcp', scopes: ['orders:read'] }));
 * app.use('/mcp', authenticate(latchkey));
 */
export function protectedResource(
  verifier: Pick<Verifier, 'protectedResource'>,
  options: ProtectedResourceOptions,
): MiddlewareHandler {
  const resource = verifier.protectedResource(options);
  return async (context, next) => resource.handle(context.req.raw) ?? next();
}

/**
 * Creates a middleware for Hono that lets in users who authenticated not long ago or in a certain way, after `authenticate()`; others get 401
 * with what is missing (RFC 9470), and `@latchkey/client` asks them to sign in again.
 *
 * @example
 * app.use('/api/payments', requireRecentAuth({ maxAge: 300 }));
 */
export function requireRecentAuth(needed: requirements.RecentAuth): MiddlewareHandler {
  return check(requirements.requireRecentAuth(needed));
}

function check(requirement: requirements.Requirement): MiddlewareHandler {
  return async (context, next) => {
    try {
      requirement(context.get('claims'));
    } catch (error) {
      if (error instanceof LatchkeyError) return error.toResponse();
      throw error;
    }
    return next();
  };
}
