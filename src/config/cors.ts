import { isThisMachine } from './loopback.js';
import type { Settings } from './settings.js';

/**
 * Whether pages of `origin` may call the service, over HTTP and sockets alike (contract §2 `CORS_ORIGINS`).
 *
 * @param origin the `Origin` header as it came; compared as a string
 */
export function allowsOrigin(
  settings: Pick<Settings, 'production' | 'publicUrl' | 'corsOrigins'>,
  origin: string,
): boolean {
  if (origin === settings.publicUrl) return true;
  if (settings.corsOrigins !== undefined) return settings.corsOrigins.includes(origin);
  return !settings.production && isHttpOrigin(origin) && isThisMachine(origin);
}

/** Whether a text is an origin as browsers send it (RFC 6454 §6.1); apps in a shell have schemes of their own. */
export function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/\\?#@*\s]+$/.test(text) || !URL.canParse(text)) return false;
  return /^https?:/.test(text) ? new URL(text).origin === text : true;
}

function isHttpOrigin(text: string): boolean {
  return /^https?:/.test(text) && isOrigin(text);
}
