import { OAuthParameters, OptionalText, RequiredText } from '../../http/parameters/parameter.js';

/** Body of POST /oauth2/revoke (RFC 7009 §2.1) and POST /oauth2/introspect (RFC 7662 §2.1). */
@OAuthParameters()
export class TokenAndHintDto {
  /** A refresh token or an access token. */
  @RequiredText()
  token!: string;

  /** The kind of token that the caller expects. Only introspection uses it: a refresh token needs `refresh_token` there. */
  @OptionalText()
  token_type_hint?: string;
}
