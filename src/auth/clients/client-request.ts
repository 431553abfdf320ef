/** What a stock OAuth client asked for (RFC 6749 §4.1.1), as far as it is needed to answer it. */
export interface ClientRequest {
  /** What the client calls itself: nobody is registered (contract §4), so it binds the code and proves nothing. */
  readonly clientId: string;
  /** Where the browser goes in the end. */
  readonly redirectUri: string;
  /** The client's own, to be returned untouched; null: it sent none. */
  readonly state: string | null;
  /** S256 (RFC 7636 §4.2). */
  readonly codeChallenge: string;
}

/**
 * Where the browser goes with the answer to a client: its redirect URI, character by character, with the answer behind its own
 * query (RFC 6749 §3.1.2); `state` as it came, and who answers (RFC 9207).
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
