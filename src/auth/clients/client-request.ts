import { OAuthError } from '../../platform/errors/oauth-error.js';
import { isProviderCode, type ProviderCode } from '../../provider/errors/callback-codes.js';
import { isAway } from '../../provider/transport/provider-answer.js';

/** Authorization request of a stock OAuth client (RFC 6749 §4.1.1). */
export interface ClientRequest {
  /**
   * Clients are not registered (docs/stock-clients.md#settings): the id binds the code and proves nothing.
   */
  readonly clientId: string;
  readonly redirectUri: string;
  /** Returned unchanged; null: the client sent none. */
  readonly state: string | null;
  /** S256 (RFC 7636 §4.2). */
  readonly codeChallenge: string;
}

export type ClientAddress = Pick<ClientRequest, 'redirectUri' | 'state'>;

/** Parameters of the answer; undefined ones are left out. */
type Answer = Readonly<Record<string, string | undefined>>;

/**
 * Redirect URI of the client, unchanged, with the answer behind its query (RFC 6749 §3.1.2), `state` and
 * `iss` (RFC 9207).
 * @param issuer PUBLIC_URL
 */
export function buildAddress({ redirectUri, state }: ClientAddress, issuer: string, answer: Answer): string {
  return withQuery(redirectUri, { ...answer, state: state ?? undefined, iss: issuer });
}

export function withQuery(redirectUri: string, answer: Answer): string {
  const present = Object.entries(answer).filter((entry): entry is [string, string] => entry[1] !== undefined);
  // Some clients decode %20 only, and not +.
  const query = present.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return redirectUri + (redirectUri.includes('?') ? '&' : '?') + query.join('&');
}

/** Error codes in the redirect to a stock client (RFC 6749 §4.1.2.1). */
export type ClientError =
  | 'unsupported_response_type'
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_target'
  | ProviderCode
  | 'server_error';

/** Error that is sent to the client, at a redirect URI that was verified. */
export class ErrorForClient extends Error {
  override readonly name = 'ErrorForClient';
  /** Redirect URI with the error. */
  readonly address: string;
  readonly reason: string | undefined;

  /**
   * @param issuer PUBLIC_URL (RFC 9207)
   * @param options.cause is logged, never sent
   * @param options.description fixed text in printable ASCII, for developers; never a provider's
   * @param options.reason for the audit trail; default: that of the cause, or the description
   */
  constructor(
    client: ClientAddress,
    issuer: string,
    readonly error: ClientError,
    { description, cause, reason }: { description?: string; cause?: unknown; reason?: string },
  ) {
    super(`error for the client: ${error}`, cause === undefined ? undefined : { cause });
    const sentence = description ?? (error === 'access_denied' ? REFUSED : undefined);
    this.address = buildAddress(client, issuer, { error, error_description: sentence });
    this.reason = reason ?? (cause instanceof OAuthError ? cause.reason : description);
  }
}

/** For a refused user of a program. Not the provider's text, which may be anything. */
const REFUSED = 'this account may not sign in here, or the sign-in was cancelled';

/** @param failure of a call of the provider; Entra ID's token endpoint has codes of the callback as well */
export function toClientError(failure: unknown): ClientError {
  if (!(failure instanceof OAuthError)) return 'server_error';
  if (isAway(failure.cause)) return 'temporarily_unavailable';
  if (failure.error === 'access_denied') return 'access_denied';
  const { error } = (failure.cause ?? {}) as { error?: unknown };
  return isProviderCode(error) ? error : 'server_error';
}
