import { Injectable } from '@nestjs/common';
import { OAuthParameters, OptionalText, RequiredText } from '../platform/http/parameters/parameter.js';
import { ParametersPipe } from '../platform/http/parameters/parameters.pipe.js';
import { ClientAuthorizeDto } from './clients/clients.dto.js';
import { ProviderParamsDto } from './provider-params.dto.js';

/**
 * Query of GET /oauth2/authorize: a client of the specification sends no `response_type`, every other one
 * does.
 */
@Injectable()
export class AuthorizeRequestPipe extends ParametersPipe {
  override transform(query: unknown): AuthorizeDto | ClientAuthorizeDto {
    const metatype = isOfStockClient(query) ? ClientAuthorizeDto : AuthorizeDto;
    return super.transform(query, { type: 'query', metatype }) as AuthorizeDto | ClientAuthorizeDto;
  }
}

/** Whether a query has a `response_type`; an empty one counts as left out (RFC 6749 §3.1). */
export function isOfStockClient(query: unknown): boolean {
  const { response_type: type } = query as { readonly response_type?: unknown };
  return type !== undefined && type !== '';
}

/** Answer of GET /oauth2/authorize (spec §4.2). */
export class Authorization {
  /** Full URL of the provider's authorization page. */
  redirect_url!: string;

  /** Random, against CSRF: comes back unchanged in the callback, and can be used once. */
  state!: string;

  /** PUBLIC_URL: clients make the address in their DPoP proofs from it. */
  issuer!: string;
}

/** Query of GET /oauth2/authorize (spec §4.2). */
@OAuthParameters()
export class AuthorizeDto extends ProviderParamsDto {
  /** Name of the configured provider. Only with `response_type` it may be left out. */
  @RequiredText()
  provider!: string;

  /** Callback URL after authorization; on the allow-list. */
  @OptionalText()
  redirect_uri?: string;

  /** SHA-256 of the client's code_verifier, in base64url (RFC 7636 §4.2). */
  @OptionalText({ matches: { pattern: /^[A-Za-z0-9_-]{43}$/, as: 'the base64url of a SHA-256 hash' } })
  code_challenge?: string;

  /** `S256`, with code_challenge. */
  @OptionalText({ matches: { pattern: /^S256$/, as: 'S256' } })
  code_challenge_method?: string;
}
