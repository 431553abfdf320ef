/** What a verified access token says (contract §5; RFC 9068). Ids are UUIDs, times are seconds since the epoch. */
export interface Claims {
  /** The user. */
  readonly sub: string;
  /** The session. */
  readonly sid: string;
  /** The device, where the session has one. */
  readonly device_id?: string;
  /** The token itself. */
  readonly jti: string;
  /** Always `latchkey`; absent from tokens of services before 0.2. */
  readonly client_id?: string;
  /** The service's `PUBLIC_URL`, as is `aud`. */
  readonly iss: string;
  readonly aud: string;
  /** When it was issued. */
  readonly iat: number;
  /** When it expires. */
  readonly exp: number;
}

/** The claims of a payload whose signature, issuer, audience and expiry are verified; undefined when it is no access token's. */
export function readClaims(payload: object): Claims | undefined {
  const { sub, sid, jti, iat, exp } = payload as Record<string, unknown>;
  const isWhole =
    typeof sub === 'string' &&
    typeof sid === 'string' &&
    typeof jti === 'string' &&
    typeof iat === 'number' &&
    typeof exp === 'number';
  return isWhole ? (payload as Claims) : undefined;
}
