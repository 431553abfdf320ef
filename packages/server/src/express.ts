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
      return refuse(response, error, next);
    }
    next();
  };
}

/** Never throws: Express 4 does not look at promises, so that a rejected one would end the process. */
function refuse(response: ServerResponse, error: unknown, next: (error: unknown) => void): void {
  if (!(error instanceof LatchkeyError))
    return next(isObject(error) ? error : new Error('no error was thrown'));
  if (response.headersSent) return; // by a time limit of the application
  try {
    for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
    response.statusCode = error.status;
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.end(JSON.stringify(error.body));
  } catch (failure) {
    next(failure); // of code that the application has put into the response
  }
}

/** Anything else would not keep Express from the handler: nothing at all, or `route`. */
const isObject = (thrown: unknown): boolean => typeof thrown === 'object' && thrown !== null;
