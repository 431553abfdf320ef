import { isThisMachine } from './loopback.js';
import type { Settings } from './settings.js';
import { isOrigin } from './url-kinds.js';

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

function isHttpOrigin(text: string): boolean {
  return /^https?:/.test(text) && isOrigin(text);
}
