import type { RequestHandler } from 'express';
import cors from 'cors';
import { isThisMachine, isOrigin } from '../../config/urls/urls.js';
import type { Settings } from '../../config/settings/settings.js';
import { allowedMethods } from '../server/route-table.js';

const PREFLIGHT_MAX_AGE_S = 600;

/** Returns whether pages of an origin may call the service, over HTTP and sockets (`CORS_ORIGINS`). */
export function allowsOrigin(
  settings: Pick<Settings, 'production' | 'publicUrl' | 'corsOrigins'>,
  origin: string,
): boolean {
  if (origin === settings.publicUrl) return true;
  if (settings.corsOrigins !== undefined) return settings.corsOrigins.includes(origin);
  return !settings.production && /^https?:/.test(origin) && isOrigin(origin) && isThisMachine(origin);
}

/** Sets CORS headers for allowed origins. Another origin gets none, and never an error. */
export function corsFor(settings: Settings): RequestHandler {
  const handle = cors({
    origin: (origin, callback) => callback(null, origin !== undefined && allowsOrigin(settings, origin)),
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: ['Retry-After', 'WWW-Authenticate', 'Date'],
    maxAge: PREFLIGHT_MAX_AGE_S,
    preflightContinue: true,
  });
  return (request, response, next) =>
    request.headers.origin === undefined ? next() : handle(request, response, next);
}

/** Answers OPTIONS on each existing path: a preflight, or a request for the methods. */
export const answerOptions: RequestHandler = (request, response, next) => {
  const allowed = request.method === 'OPTIONS' ? allowedMethods(request) : [];
  if (allowed.length === 0) return next();
  response.setHeader('Allow', allowed.join(', '));
  response.status(204).end();
};
