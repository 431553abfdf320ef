import { Required } from '../http/parameter.js';

/** Body of POST /oauth2/revoke (RFC 7009 §2.1) and POST /oauth2/introspect (RFC 7662 §2.1); hints are not needed. */
export class TokenDto {
  /** A refresh token or an access token. */
  @Required()
  token!: string;
}
