import type { IncomingMessage, ServerResponse } from 'node:http';
import { LatchkeyError } from './latchkey-error.js';
import { metadataMiddleware, type ProtectedResourceOptions } from './protected-resource.js';
import * as requirements from './requirements.js';
import type { Sessions } from './session/sessions.js';
import type { Claims } from './token/token-signature.js';
import type { Authenticator, Verifier } from './verifier.js';

declare global {
  namespace Express {
    interface Request {
      /** Claims of the caller's access token, after `authenticate()`. */
      claims: Claims;
    }
  }
}

type Middleware = (
  request: IncomingMessage & { claims: Claims },
  response: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>;

/**
 * Creates a middleware for Express: it sets `request.claims`, or answers with the `LatchkeyError`.
 *
 * @example
 * app.use('/api', authenticate(latchkey));
 * app.get('/api/me', ({ claims }, response) => response.json({ userId: claims.sub }));
 */
export function authenticate(verifier: Authenticator): Middleware {
  return async (request, response, next) => {
    try {
      request.claims = await verifier.authenticate(request);
    } catch (error) {
      return refuse(response, error, next);
    }
    next();
  };
}

/**
 * Creates a middleware for Express that lets in users with one of the roles, after `authenticate()`; others get 403.
 *
 * @example
 * app.delete('/api/orders/:id', requireRole('admin'), removeOrder);
 */
export function requireRole(...roles: Parameters<typeof requirements.requireRole>): Middleware {
  return check(requirements.requireRole(...roles));
}

/**
 * Creates a middleware for Express that lets in users with a claim of this value, or a list that contains it, after `authenticate()`.
 *
 * @example
 * app.use('/api/reports', requireClaim('plan', 'pro'));
 */
export function requireClaim(...claim: Parameters<typeof requirements.requireClaim>): Middleware {
  return check(requirements.requireClaim(...claim));
}

/**
 * Creates a middleware for Express that lets in programs with all of the scopes, and the application's own pages, after `authenticate()`; others
 * get 403 with the scopes to ask for.
 *
 * @example
 * app.get('/mcp/orders', requireScope('orders:read'), listOrders);
 */
export function requireScope(...scopes: Parameters<typeof requirements.requireScope>): Middleware {
  return check(requirements.requireScope(...scopes));
}

/**
 * Creates a middleware for Express that declares an API for programs of third parties, and answers requests for its metadata (RFC 9728). It comes
 * before `authenticate()`, for all paths.
 *
 * @example
 * app.use(protectedResource(latchkey, { resource: 'https://api.example.com/mcp', scopes: ['orders:read'] }));
 * app.use('/mcp', authenticate(latchkey));
 */
export function protectedResource(
  verifier: Pick<Verifier, 'protectedResource'>,
  options: ProtectedResourceOptions,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return metadataMiddleware(verifier.protectedResource(options));
}

/**
 * Creates a middleware for Express that lets in users who authenticated not long ago or in a certain way, after `authenticate()`; others get 401
 * with what is missing (RFC 9470), and `@latchkey/client` asks them to sign in again.
 *
 * @example
 * app.post('/api/payments', requireRecentAuth({ maxAge: 300 }), pay);
 */
export function requireRecentAuth(needed: requirements.RecentAuth): Middleware {
  return check(requirements.requireRecentAuth(needed));
}

/**
 * Creates a middleware for Express that answers the requests below `prefix` of `createSessions`. `sessions.getSession(request)` takes
 * requests of Express as they are.
 *
 * @example
 * app.use(sessionRoutes(sessions));
 * app.get('/', async (request, response) => response.json(await sessions.getSession(request)));
 */
export function sessionRoutes(
  sessions: Pick<Sessions, 'handle'>,
): (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      const {
        method,
        headers,
        originalUrl: url = request.url,
      } = request as { originalUrl?: string } & IncomingMessage;
      const answer = await sessions.handle({ method, url, headers });
      if (!answer) return next();
      response.statusCode = answer.status;
      // Each cookie is a header of its own (RFC 6265 §3); the application may have set others.
      for (const [name, value] of answer.headers) response.appendHeader(name, value);
      response.end(await answer.text());
    } catch (error) {
      next(isObject(error) ? error : new Error('no error was thrown'));
    }
  };
}

function check(requirement: requirements.Requirement): Middleware {
  // oxlint-disable-next-line typescript/require-await -- like authenticate()
  return async ({ claims }, response, next) => {
    try {
      requirement(claims);
    } catch (error) {
      return refuse(response, error, next);
    }
    next();
  };
}

/** Never throws: Express 4 ignores promises, so a rejection would end the process. */
function refuse(response: ServerResponse, error: unknown, next: (error: unknown) => void): void {
  if (!(error instanceof LatchkeyError))
    return next(isObject(error) ? error : new Error('no error was thrown'));
  if (response.headersSent) return; // e.g. by a timeout of the application
  try {
    for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
    response.statusCode = error.status;
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.end(JSON.stringify(error.body));
  } catch (failure) {
    next(failure); // the application may have replaced methods of the response
  }
}

/** Express takes `next(undefined)` and `next('route')` as no error, and would call the handler. */
const isObject = (thrown: unknown): boolean => typeof thrown === 'object' && thrown !== null;
