import type { FastifyReply, FastifyRequest } from 'fastify';
import { LatchkeyError } from './latchkey-error.js';
import { METADATA_HEADERS, type ProtectedResourceOptions } from './protected-resource.js';
import * as requirements from './requirements.js';
import type { Claims } from './token/token-signature.js';
import type { Authenticator, Verifier } from './verifier.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Claims of the caller's access token, after `authenticate()`. */
    claims: Claims;
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Creates a hook for Fastify (`onRequest`): it sets `request.claims`, or throws the error, which Fastify answers as the service
 * does. It never answers and returns: if the client hangs up before the answer is sent, Fastify would run the handler.
 * @throws LatchkeyError `invalid_token`, `temporarily_unavailable` or `service_key_refused`
 *
 * @example
 * app.addHook('onRequest', authenticate(latchkey));
 * app.get('/me', async ({ claims }) => ({ userId: claims.sub }));
 */
export function authenticate(verifier: Authenticator): Hook {
  return async (request, reply) => {
    try {
      request.claims = await verifier.authenticate(request);
    } catch (error) {
      if (error instanceof LatchkeyError) prepareAnswer(reply, error);
      throw error;
    }
  };
}

/**
 * Creates a hook for Fastify that lets in users with one of the roles, after `authenticate()`; others get 403.
 *
 * @example
 * app.delete('/orders/:id', { onRequest: requireRole('admin') }, removeOrder);
 */
export function requireRole(...roles: Parameters<typeof requirements.requireRole>): Hook {
  return check(requirements.requireRole(...roles));
}

/**
 * Creates a hook for Fastify that lets in users with a claim of this value, or a list that contains it, after `authenticate()`.
 *
 * @example
 * app.get('/reports', { onRequest: requireClaim('plan', 'pro') }, listReports);
 */
export function requireClaim(...claim: Parameters<typeof requirements.requireClaim>): Hook {
  return check(requirements.requireClaim(...claim));
}

/**
 * Creates a hook for Fastify that lets in programs with all of the scopes, and the application's own pages, after `authenticate()`; others get 403
 * with the scopes to ask for.
 *
 * @example
 * app.get('/mcp/orders', { onRequest: requireScope('orders:read') }, listOrders);
 */
export function requireScope(...scopes: Parameters<typeof requirements.requireScope>): Hook {
  return check(requirements.requireScope(...scopes));
}

/**
 * Creates a hook for Fastify that declares an API for programs of third parties, and answers requests for its metadata (RFC 9728). It comes
 * before `authenticate()`, for all paths.
 *
 * @example
 * app.addHook('onRequest', protectedResource(latchkey, { resource: 'https://api.example.com/mcp', scopes: ['orders:read'] }));
 */
export function protectedResource(
  verifier: Pick<Verifier, 'protectedResource'>,
  options: ProtectedResourceOptions,
): Hook {
  const resource = verifier.protectedResource(options);
  // oxlint-disable-next-line typescript/require-await -- a hook without a promise needs a callback
  return async ({ method, url }, reply) => {
    // If the client has hung up, the next hook runs: no path of the metadata has a handler.
    if (resource.isMetadata(method, url.replace(/\?.*/s, '')))
      return reply.headers(METADATA_HEADERS).send(resource.metadata);
    return undefined;
  };
}

/**
 * Creates a hook for Fastify that lets in users who authenticated not long ago or in a certain way, after `authenticate()`; others get 401
 * with what is missing (RFC 9470), and `@latchkey/client` asks them to sign in again.
 *
 * @example
 * app.post('/payments', { onRequest: requireRecentAuth({ maxAge: 300 }) }, pay);
 */
export function requireRecentAuth(needed: requirements.RecentAuth): Hook {
  return check(requirements.requireRecentAuth(needed));
}

function check(requirement: requirements.Requirement): Hook {
  // oxlint-disable-next-line typescript/require-await -- a hook without a promise needs a callback
  return async ({ claims }, reply) => {
    try {
      requirement(claims);
    } catch (error) {
      if (error instanceof LatchkeyError) prepareAnswer(reply, error);
      throw error;
    }
  };
}

/**
 * Makes Fastify answer in the service's format: an error handler that sends the error sends its body, with
 * the error's status and headers unless it sets others. The reply of a hook that catches the error stays
 * unchanged.
 */
function prepareAnswer(reply: FastifyReply, error: LatchkeyError): void {
  const send = reply.send.bind(reply);
  let isHandled = false;
  reply.send = (payload?: unknown) => {
    if (payload !== error) return send(payload);
    if (isHandled) {
      noteLastHandler(reply);
      return send(error.body);
    }
    isHandled = true; // the first call is Fastify's, which calls the error handler
    reply.code(error.status).headers(error.headers);
    return send(error);
  };
}

/** Fastify's property of the next error handler; false: none. */
const NEXT_HANDLER = 'fastify.reply.nextErrorHandler';

/**
 * Notes that Fastify's default error handler was the last one, which Fastify does itself only if that handler sends an error. Without
 * the note, a failing `onSend` hook makes Fastify look for another handler and throw, which ends the process.
 */
function noteLastHandler(reply: FastifyReply): void {
  const next = Object.getOwnPropertySymbols(reply).find(({ description }) => description === NEXT_HANDLER);
  const handlers = reply as unknown as Record<symbol, { readonly func?: unknown } | false | null>;
  if (next && handlers[next] && !handlers[next].func) handlers[next] = false;
}
