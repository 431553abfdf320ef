import type { MiddlewareHandler } from 'hono';
import { LatchkeyError } from './latchkey-error.js';
import type { Claims } from './token/token-signature.js';
import type { Authenticator } from './verifier.js';

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
