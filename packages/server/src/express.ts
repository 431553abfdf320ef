import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Claims } from './claims.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Authenticator } from './verifier.js';

declare global {
  namespace Express {
    interface Request {
      /** Of the caller's access token, behind `authenticate()`. */
      claims: Claims;
    }
  }
}

type Middleware = (
  request: IncomingMessage & { claims: Claims },
  response: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>;

/** Middleware for Express: sets `request.claims`, or answers as the service itself does. */
export function authenticate(verifier: Authenticator): Middleware {
  return async (request, response, next) => {
    try {
      request.claims = await verifier.authenticate(request);
    } catch (error) {
      if (error instanceof LatchkeyError) answer(response, error);
      else next(error); // Express 4 does not look at promises
      return;
    }
    next();
  };
}

function answer(response: ServerResponse, { status, headers, body }: LatchkeyError): void {
  if (response.headersSent) return; // meanwhile: by a timeout of the application's
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(JSON.stringify(body));
}
