import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';

declare module 'express-serve-static-core' {
  interface Request {
    /** Names the request in every line of the log, and in the answer's `X-Request-Id`. */
    id: string;
  }
  interface Locals {
    /** The code of the error that was answered. */
    error?: string;
  }
}

/**
 * Gives every request an id, and logs it once it is answered: 5xx as errors, 4xx as information, the rest for
 * debugging only. Never the query, headers or body: they hold codes, states and tokens.
 */
export function requestLog(logger: Logger): RequestHandler {
  return (request, response, next) => {
    const received = performance.now();
    request.id = randomUUID(); // never the client's own: it would stand in our log
    response.setHeader('X-Request-Id', request.id);
    response.once('close', () => {
      const status = response.statusCode;
      const level = status >= 500 ? 'error' : status >= 400 ? 'info' : 'debug';
      if (!logger.isLevelEnabled(level)) return;
      const { id: request_id, ip: address, method, path } = request;
      const ms = Math.round(performance.now() - received);
      const { error } = response.locals;
      const answered = response.writableFinished;
      logger[level]({ request_id, address, method, path, status, error, ms, answered }, 'request');
    });
    next();
  };
}
