import { OAuthError } from '../../errors/oauth-error.js';
import { parseUrl } from '../../config/urls/urls.js';

/** Who signed in, as a provider tells it (spec §2.5); optional fields that it left out or that cannot be used are null. */
export interface Identity {
  readonly providerUserId: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly avatarUrl: string | null;
  /** What the provider's logout tokens call the user and the session (contract §6). */
  readonly subject: string | null;
  readonly session: string | null;
}

/**
 * Judges a provider's answer (contract §6); pure.
 *
 * @param body what the provider sent, parsed: unknown until looked at.
 * @throws OAuthError `server_error` when there is no usable `provider_user_id`. Optional fields never fail: they are dropped,
 *   and so is an e-mail address that the provider calls unverified.
 */
export function parseIdentity(body: unknown): Identity {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const { provider_user_id: providerUserId, username, email, avatar_url: avatarUrl } = fields;
  const { subject, session } = fields;
  if (!isName(providerUserId)) {
    throw new OAuthError('server_error', 'the provider sent no usable provider_user_id');
  }
  return {
    providerUserId,
    username: isText(username, 255) ? username : null,
    email: isText(email, 255) && !callsUnverified(fields) ? email : null,
    avatarUrl: isText(avatarUrl, 2048) && isHttpUrl(avatarUrl) ? avatarUrl : null,
    subject: isName(subject) ? subject : null,
    session: isName(session) ? session : null,
  };
}

/** Whether a value can be what a provider calls somebody or something: 1 to 255 characters that can be stored. */
export function isName(value: unknown): value is string {
  return isText(value, 255) && value !== '';
}

/**
 * Whether claims call their e-mail address unverified: `email_verified` (OpenID Connect Core §5.1) or
 * `verified` (Discord) is false, as a boolean or as text. Claims without either do not.
 */
export function callsUnverified(claims: Readonly<Record<string, unknown>>): boolean {
  return [claims['email_verified'], claims['verified']].some(
    (said) => said === false || (typeof said === 'string' && said.toLowerCase() === 'false'),
  );
}

/** Whether PostgreSQL can store it as it is: no NUL, no lone surrogate. Length in characters, not in UTF-16 units. */
function isText(value: unknown, maxLength: number): value is string {
  return (
    typeof value === 'string' &&
    value.length <= 2 * maxLength &&
    Array.from(value).length <= maxLength &&
    value.isWellFormed() &&
    !value.includes('\0')
  );
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && parseUrl(text) !== undefined;
}
