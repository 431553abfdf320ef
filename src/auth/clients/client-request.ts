/** Authorization request of a stock OAuth client (RFC 6749 §4.1.1). */
export interface ClientRequest {
  /** Clients are not registered (contract §4): the id binds the code and proves nothing. */
  readonly clientId: string;
  readonly redirectUri: string;
  /** The client's own, to be returned untouched; null: it sent none. */
  readonly state: string | null;
  /** S256 (RFC 7636 §4.2). */
  readonly codeChallenge: string;
}

/**
 * Redirect URI of the client, unchanged, with the answer behind its query (RFC 6749 §3.1.2), `state` and `iss` (RFC 9207).
 *
 * @param issuer PUBLIC_URL
 */
export function addressOf(
  { redirectUri, state }: Pick<ClientRequest, 'redirectUri' | 'state'>,
  issuer: string,
  answer: Readonly<Record<string, string>>,
): string {
  const parameters = { ...answer, ...(state !== null && { state }), iss: issuer };
  // %20 and not +: some clients decode the one alone.
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return redirectUri + (redirectUri.includes('?') ? '&' : '?') + query.join('&');
}
