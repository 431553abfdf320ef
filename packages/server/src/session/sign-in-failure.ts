import { failurePage } from './answers.js';

/** As the service has them (RFC 6749 §4.1.2.1), and those of the callback here. */
export const ERROR = /^[a-z_]{1,64}$/;
/** The account may not sign in. The provider's own refusal has this code as well. */
export const REFUSED = 'access_denied';
/** An attempt that was used before, expired, or began elsewhere. */
const OVER = ['invalid_state', 'invalid_grant'];

const STATUS: Readonly<Record<string, number>> = { [REFUSED]: 403, temporarily_unavailable: 503 };

/** @param again address that begins another sign-in @param goOn page for a session that goes on */
export function signInFailurePage(code: string, again: string, goOn?: string): Response {
  const isRefused = code === REFUSED;
  return failurePage(STATUS[code] ?? 400, isRefused ? REFUSAL : sentenceFor(code), {
    ...(isRefused && { 'Use another account': `${again}&prompt=select_account` }),
    'Try again': again,
    ...(goOn !== undefined && { 'Go on without a new sign-in': goOn }),
  });
}

const REFUSAL =
  'This account may not sign in here. If you said no on the page of the identity provider, try again.';

function sentenceFor(code: string): string {
  const reason = OVER.includes(code)
    ? ' This sign-in was used before, took too long, or began elsewhere.'
    : '';
  return `Signing in did not work${ERROR.test(code) ? ` (${code})` : ''}.${reason}`;
}
