import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { uuidOfNow } from '../parameters/uuid.js';
import { isEnding } from '../server/ending.js';
import { routeOf } from '../server/route-table.js';
import type { Events } from '../../events.js';
import { LineLimit } from './line-limit.js';
import { Repeats } from './repeats.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** In each log line of the request, and in the answer's `X-Request-Id`. */
    id: string;
  }
  interface Locals {
    error?: string;
  }
}

const LONGEST_PATH = 200; // more than any route's path

/**
 * Gives each request an id, and logs its answer: 5xx as `error`, 4xx as `info`, the rest as `debug`. Never
 * the query, headers or body, which hold codes, states and tokens. Of equal 5xx of a route, one line a second
 * is written. 503 is `info`: readiness answers a probe with it each second; its reason has a line of its own.
 * Emits `request.ended`, except for event streams: their duration would distort the metrics.
 */
export function requestLog(logger: Logger, events: Events): RequestHandler {
  const limit = new LineLimit<'info'>((level, left_out) => logger[level]({ left_out }, 'requests'));
  const errors = new Repeats<object>((facts, left_out) => logger.error({ ...facts, left_out }, 'requests'));
  return (request, response, next) => {
    if (isEnding(request.socket)) return; // its answer could not be sent
    const received = performance.now();
    request.id = uuidOfNow(); // never the client's, which could forge log lines
    response.setHeader('X-Request-Id', request.id);
    response.once('close', () => {
      const { statusCode: status, writableFinished: answered } = response;
      const seconds = (performance.now() - received) / 1000;
      const route = routeOf(request);
      if (response.getHeader('Content-Type') !== 'text/event-stream') {
        events.emit('request.ended', { method: request.method, route, status, answered, seconds });
      }
      const level = status >= 500 && status !== 503 ? 'error' : status >= 400 ? 'info' : 'debug';
      if (!logger.isLevelEnabled(level) || (level === 'info' && !limit.admits(level))) return;
      const { id: request_id, ip: address, method } = request;
      const path = request.path.slice(0, LONGEST_PATH);
      const ms = Math.round(seconds * 1000);
      const { error } = response.locals;
      const kind = { method, route, status, error };
      if (level === 'error' && !errors.isFirst(JSON.stringify(kind), kind)) return;
      logger[level]({ request_id, address, method, path, status, error, ms, answered }, 'request');
    });
    next();
  };
}
