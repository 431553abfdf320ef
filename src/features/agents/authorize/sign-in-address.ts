import type { Settings } from '../../../platform/config/settings/settings.js';
import { challengeOf } from '../../../provider/adapters/authorization-request.js';
import { agentCallback } from '../agents.feature.js';
import type { BrowserSecret } from './browser-cookie.js';

/** `client_id` of the question, which is an OAuth client of this service itself. */
export const QUESTION_CLIENT = 'latchkey-agents';

/** Challenge of the sign-in for a request: only the browser that began can finish it (RFC 7636). */
export function challengeFor(id: string, browser: BrowserSecret): string {
  return challengeOf(browser.derive(`sign-in ${id}`).toString('base64url'));
}

/** @param passed parameters for the provider's page @returns address of the sign-in for a request */
export function signInAddress(
  settings: Settings,
  id: string,
  browser: BrowserSecret,
  passed: Readonly<Record<string, string>>,
): string {
  const query = new URLSearchParams({
    ...passed,
    response_type: 'code',
    client_id: QUESTION_CLIENT,
    redirect_uri: agentCallback(settings),
    code_challenge: challengeFor(id, browser),
    code_challenge_method: 'S256',
    state: id,
  });
  return `/oauth2/authorize?${query.toString()}`;
}
