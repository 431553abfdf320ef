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

/** Hook for Fastify (`onRequest`): sets `request.claims`, or answers as the service itself does. */
export function authenticate(verifier: Authenticator): Hook {
  return async (request, reply) => {
    try {
      request.claims = await verifier.authenticate(request);
    } catch (error) {
      if (!(error instanceof LatchkeyError)) throw error;
      await reply.code(error.status).headers(error.headers).send(error.body);
    }
  };
}
