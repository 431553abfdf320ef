import type { MiddlewareHandler } from 'hono';
import type { Claims } from './claims.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Authenticator } from './verifier.js';

declare module 'hono' {
  interface ContextVariableMap {
    /** Of the caller's access token, behind `authenticate()`. */
    claims: Claims;
  }
}

/** Middleware for Hono: sets `claims` of the context, or answers as the service itself does. */
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
