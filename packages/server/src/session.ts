import type { SessionOptions } from './session/session-options.js';
import { Sessions } from './session/sessions.js';

export { LatchkeyError, type ErrorCode } from './latchkey-error.js';
export type { PageRequest } from './session/page-request.js';
export type { SessionOptions } from './session/session-options.js';
export type { AccessToken, Session, Sessions } from './session/sessions.js';
export type { Claims } from './token/token-signature.js';

/**
 * Creates the sign-in of an application with pages that a server renders: one per process. The browser gets an encrypted cookie, and
 * no token (RFC 10017, backend for frontend).
 * @throws TypeError for an invalid or unknown option
 *
 * @example
 * export const sessions = createSessions({
 *   issuer: 'https://id.example.com', // the service's PUBLIC_URL
 *   clientUrl: 'https://app.example.com', // of your application
 *   cookieSecret: process.env.COOKIE_SECRET, // 32 random characters or more
 *   serviceKey: process.env.LATCHKEY_KEY, // one of its SERVICE_KEYS, with the right `read`
 * });
 */
export function createSessions(options: SessionOptions): Sessions {
  return new Sessions(options);
}
