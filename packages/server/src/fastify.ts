import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Claims } from './claims.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Authenticator } from './verifier.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the caller's access token, behind `authenticate()`. */
    claims: Claims;
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Hook for Fastify (`onRequest`): sets `request.claims`, or throws the error, which Fastify answers as the service does.
 * It does not answer and return: if the client hangs up before the answer is sent, Fastify would run the handler.
 * @throws LatchkeyError `invalid_token`, `temporarily_unavailable` or `service_key_refused`
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
 * Fastify's default error handler sends an error in a format of Fastify. With this, an error handler that sends the error sends its
 * body (contract §3), and one that sets neither status nor headers answers with those of the error. A hook that catches the error
 * finds the reply untouched.
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
    isHandled = true; // the first call is Fastify's own, which passes the error to the error handler
    reply.code(error.status).headers(error.headers);
    return send(error);
  };
}

/** Where Fastify keeps the error handler that is next; false: there is none. */
const NEXT_HANDLER = 'fastify.reply.nextErrorHandler';

/**
 * Fastify's own error handler is the last one, which Fastify notes when that handler sends an error; here it sends a body. Without
 * the note Fastify looks for another handler if an `onSend` hook fails, and throws, which ends the process.
 */
function noteLastHandler(reply: FastifyReply): void {
  const next = Object.getOwnPropertySymbols(reply).find(({ description }) => description === NEXT_HANDLER);
  const handlers = reply as unknown as Record<symbol, { readonly func?: unknown } | false | null>;
  if (next && handlers[next] && !handlers[next].func) handlers[next] = false;
}
