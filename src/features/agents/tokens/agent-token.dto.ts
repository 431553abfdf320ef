import { OAuthParameters, OptionalText, RequiredText } from '../../../platform/http/parameters/parameter.js';

const A_VERIFIER = { pattern: /^[A-Za-z0-9._~-]{43,128}$/, as: '43 to 128 unreserved characters' };

/** How a program names and authenticates itself at POST /oauth2/token, and what the token is for. */
@OAuthParameters()
export class AgentTokenDto {
  /** Here, as the user name of Basic, or as `sub` of the assertion. */
  @OptionalText({ max: 2048 })
  client_id?: string;

  @OptionalText({ max: 1024 })
  client_secret?: string;

  @OptionalText({ max: 255 })
  client_assertion_type?: string;

  /** RFC 7523. */
  @OptionalText({ max: 8192 })
  client_assertion?: string;

  /** As in the authorization request, if given. */
  @OptionalText({ max: 2048 })
  resource?: string;
}

/** Body of POST /oauth2/token with the code of a program. */
@OAuthParameters()
export class AgentCodeDto extends AgentTokenDto {
  @RequiredText({ max: 255 })
  code!: string;

  /** As in the authorization request. */
  @RequiredText({ max: 2048 })
  redirect_uri!: string;

  /** PKCE verifier (RFC 7636 §4.1). */
  @RequiredText({ matches: A_VERIFIER })
  code_verifier!: string;
}

/** Body of POST /oauth2/token with the refresh token of a program. */
@OAuthParameters()
export class AgentRefreshDto extends AgentTokenDto {
  /** Stays valid. */
  @RequiredText()
  refresh_token!: string;

  /** Fewer scopes than were allowed, for this access token alone. */
  @OptionalText({ max: 2048 })
  scope?: string;
}
