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
