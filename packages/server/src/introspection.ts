/** What the service says of a token (RFC 7662 §2.2). All but `active` is there only if it is good at this moment. */
export interface Introspection {
  readonly active: boolean;
  readonly sub?: string;
  readonly sid?: string;
  readonly device_id?: string;
  readonly jti?: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly iss?: string;
  readonly aud?: string;
  readonly token_type?: 'Bearer' | 'refresh_token';
}
