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
 * Sets status and headers, also for an error handler that sets neither. Fastify's default error handler sends an error in a
 * format of Fastify; with this, an error handler that sends the error sends its body (contract §3).
 */
function prepareAnswer(reply: FastifyReply, error: LatchkeyError): void {
  reply.code(error.status).headers(error.headers);
  const send = reply.send.bind(reply);
  let isHandled = false; // the first call is Fastify's own, which passes the error to the error handler
  reply.send = (payload?: unknown) => {
    const sent = isHandled && payload === error ? error.body : payload;
    isHandled = true;
    return send(sent);
  };
}
