import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { routeOf } from '../errors/allowed-methods.js';
import type { Events } from '../../events.js';
import { isEventStream } from '../event-stream.js';
import { LineLimit } from './line-limit.js';

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

const LONGEST_PATH = 200; // no path of ours is as long

/**
 * Gives every request an id, and logs it once it is answered: 5xx as errors, 4xx as information, the rest for
 * debugging only. Never the query, headers or body: they hold codes, states and tokens.
 * 503 is the answer of readiness (contract §4) to a probe that may ask every second. It is not logged as an error: a
 * database that is away is logged elsewhere, and a shutdown is not an error.
 * The end of each request is told to other rooms as well; a stream without end is not a request that took hours.
 */
export function requestLog(logger: Logger, events: Events): RequestHandler {
  const left = (level: 'error' | 'info') =>
    new LineLimit((requests) => logger[level]({ left_out: requests }, 'requests'));
  const limits = { error: left('error'), info: left('info'), debug: undefined };
  return (request, response, next) => {
    const received = performance.now();
    request.id = randomUUID(); // never the client's own: it would stand in our log
    response.setHeader('X-Request-Id', request.id);
    response.once('close', () => {
      const { statusCode: status, writableFinished: answered } = response;
      const seconds = (performance.now() - received) / 1000;
      if (!isEventStream(response)) {
        const route = routeOf(request);
        events.emit('request.ended', { method: request.method, route, status, answered, seconds });
      }
      const level = status >= 500 && status !== 503 ? 'error' : status >= 400 ? 'info' : 'debug';
      if (!logger.isLevelEnabled(level) || limits[level]?.admits() === false) return;
      const { id: request_id, ip: address, method } = request;
      const path = request.path.slice(0, LONGEST_PATH);
      const ms = Math.round(seconds * 1000);
      const { error } = response.locals;
      logger[level]({ request_id, address, method, path, status, error, ms, answered }, 'request');
    });
    next();
  };
}
