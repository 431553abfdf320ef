import {
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Post,
  Query,
  Req,
  Res,
  UseFilters,
  Injectable,
  type Type,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { type Origin, RequestOrigin, originOf } from '../audit/audit-event.js';
import { Public } from '../platform/http/access.js';
import { Audiences } from '../token/access-tokens/audiences.js';
import type { RefreshedToken } from '../token/refresh/refresh.dto.js';
import { AuthService } from './auth.service.js';
import { type AuthorizeDto, Authorization, AuthorizeRequestPipe, isOfStockClient } from './authorize.dto.js';
import { ClientErrorFilter } from './clients/client-error.filter.js';
import { ClientSignIns } from './clients/client-sign-ins.js';
import { ClientAuthorizeDto, CODE_PREFIX } from './clients/clients.dto.js';
import { lastProvider } from './clients/provider-page.js';
import { refuseHead, sendNext } from './clients/send-next.js';
import { RateLimit, type LimitByBody } from '../platform/http/rate-limit.js';
import { TokenGrants } from './extensions/token-grants.js';
import { ClientTokenDto, DelegatedTokens, IssuedTokens, RefreshDto, TokenDto } from './token.dto.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { BodyReader, UnreadBody } from '../platform/http/parameters/body.js';
import { bodyLimitsOf } from '../platform/http/parameters/parameter.js';
import { ParametersPipe } from '../platform/http/parameters/parameters.pipe.js';
import { STATE } from './states/state.service.js';

/** Parameters of POST /oauth2/token; their class is the grant. */
export type TokenRequest = TokenDto | ClientTokenDto | RefreshDto;

/**
 * Decides which grant a request is: the only place that does. `code` and `state` mean the grant of the
 * specification (spec §4.3); otherwise `grant_type` decides. A provider may be another Latchkey: a code with
 * our prefix and a state in our format is the provider's. Some clients send another state.
 * @param body parsed, not validated
 * @param others grants of other modules
 * @throws OAuthError `unsupported_grant_type`, or `invalid_request` if it is not text
 */
export function chooseGrant(body: unknown, others?: TokenGrants): Type<TokenRequest> {
  const parameters = (body ?? {}) as Readonly<Record<string, unknown>>;
  const { code, state, grant_type: grantType, refresh_token: refreshToken } = parameters;
  const ofFeature = (credential: unknown) => others?.dtoFor(credential) as Type<TokenRequest> | undefined;
  const isOwn = typeof code === 'string' && code.startsWith(CODE_PREFIX) && !mayBeOurs(state);
  if (!isOwn && !isEmpty(code) && !isEmpty(state)) return TokenDto;
  if (isEmpty(grantType) || grantType === 'authorization_code') {
    return isOwn ? (ofFeature(code) ?? ClientTokenDto) : TokenDto;
  }
  if (grantType === 'refresh_token') return ofFeature(refreshToken) ?? RefreshDto;
  if (typeof grantType !== 'string') throw new OAuthError('invalid_request', 'grant_type must be given once');
  const other = others?.dtoOf(grantType);
  if (other) return other as Type<TokenRequest>;
  throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
}

/** A state that is not text is rejected later. */
function mayBeOurs(state: unknown): boolean {
  return !isEmpty(state) && (typeof state !== 'string' || STATE.test(state));
}

/** Treated as omitted, as an optional parameter is (docs/endpoints.md#rules-for-all-calls). */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** A refresh counts as one at either endpoint (docs/settings.md#proxy-and-rate-limits). */
export function chooseLimit(body: unknown): 'token' | 'refresh' {
  try {
    return chooseGrant(body) === RefreshDto ? 'refresh' : 'token';
  } catch {
    return 'token'; // the pipe rejects it
  }
}

const READER = new BodyReader(bodyLimitsOf(TokenDto, []));

const LIMIT_BY_GRANT: LimitByBody = {
  oneOf: ['token', 'refresh'],
  choose: async ({ body }) =>
    body instanceof UnreadBody ? body.read(READER).then(chooseLimit, () => 'token') : 'token',
};

@Injectable()
export class TokenRequestPipe extends ParametersPipe {
  constructor(
    private readonly grants: TokenGrants,
    private readonly audiences: Audiences,
  ) {
    super();
  }

  override transform(body: unknown): TokenRequest | Promise<TokenRequest> {
    if (body instanceof UnreadBody) return body.read(READER).then((read) => this.toRequest(read));
    return this.toRequest(body);
  }

  private toRequest(body: unknown): TokenRequest {
    const metatype = chooseGrant(body, this.grants);
    const request = super.transform(body, { type: 'body', metatype }) as TokenRequest;
    const { resource } = (body ?? {}) as { readonly resource?: unknown };
    // Grants of programs read it (RFC 8707).
    const isUnread = !isEmpty(resource) && !('resource' in request);
    if (isUnread && this.audiences.names.length > 0) throw notForResource();
    return request;
  }
}

/** The three public endpoints of spec §4. */
@Public()
@Controller('oauth2')
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly clientSignIns: ClientSignIns,
    private readonly grants: TokenGrants,
  ) {}

  /**
   * Begin a sign-in
   *
   * Answers with the address of the provider’s page, to which the client sends the browser, and with a
   * `state` that must come back unchanged. Without `redirect_uri` the first allowed one is taken.
   * `code_challenge` and `code_challenge_method` go together, and bind the sign-in to the client that began
   * it (RFC 7636).
   *
   * With `response_type` it is the authorization endpoint of stock OAuth clients (RFC 6749 §4.1.1), and
   * redirects the browser itself. Such a client sends `client_id`, `redirect_uri`, `code_challenge` and
   * `code_challenge_method`; without `provider` the user chooses one on a page. Errors are in the redirect,
   * unless the client is unknown.
   *
   * @returns Where to send the user.
   * @returns {302} With `response_type`: to the provider, or with an error to the client.
   * @throws OAuthError `invalid_client`, `invalid_target`
   */
  @Get('authorize')
  @RateLimit('authorize')
  @UseFilters(new ClientErrorFilter(({ query }) => isOfStockClient(query)))
  async authorize(
    @Query(AuthorizeRequestPipe) query: AuthorizeDto | ClientAuthorizeDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
    @RequestOrigin() origin: Origin,
  ): Promise<Authorization | string> {
    if (!(query instanceof ClientAuthorizeDto)) return this.auth.authorize(query, request.query, origin);
    refuseHead(request);
    const last = lastProvider(request);
    return sendNext(await this.clientSignIns.begin(query, request.query, origin, last), response);
  }

  /**
   * Exchange an authorization code for tokens
   *
   * Every request with well-formed parameters uses up the `state`: after any later error the sign-in begins
   * anew at `/oauth2/authorize`. A `DPoP` proof binds the session to its key, and every refresh then needs a
   * proof of this key (RFC 9449). With `grant_type=refresh_token`, and without `code` and `state`, it does
   * what `/oauth2/refresh` does.
   *
   * A stock OAuth client sends a code that Latchkey issued, which begins with `lkc_`, with `redirect_uri` and
   * `code_verifier`, and without `state`.
   *
   * If the metadata have `device_authorization_endpoint`, a device without a browser polls with
   * `grant_type=urn:ietf:params:oauth:grant-type:device_code`, `device_code` and `client_id` (RFC 8628 §3.4).
   * All its errors have the status 400.
   *
   * If the metadata have `protected_resources`, a program that a user lets act for them sends its code, which
   * begins with `lkc_a.`, or its refresh token, `lka_…`, with `client_id`. If they have
   * `authorization_grant_profiles_supported`, it may send an `assertion` of the user's provider with
   * `grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer`.
   *
   * @returns Tokens. Only this answer has the refresh token.
   * @throws OAuthError `unsupported_grant_type`, `invalid_client`, `invalid_grant`, `access_denied`,
   *   `invalid_dpop_proof`
   * @throws {400} The request is wrong; or any error of a device code, such as `authorization_pending`.
   * @throws {503} The keys of a program cannot be read; `Retry-After` says when to try again.
   */
  @Post('token')
  @RateLimit(LIMIT_BY_GRANT)
  @HttpCode(200)
  token(
    @Body(TokenRequestPipe) body: TokenRequest,
    @Req() { res }: Request,
    @RequestOrigin() origin: Origin,
    @Headers('dpop') header?: string,
    @Headers('authorization') authorization?: string,
  ): Promise<IssuedTokens | RefreshedToken | DelegatedTokens> {
    const call = { header, path: '/oauth2/token' } as const;
    if (body instanceof RefreshDto) return this.auth.refresh(body, call, () => origin);
    if (body instanceof ClientTokenDto) return this.clientSignIns.exchange(body, call, origin, authorization);
    const other = this.grants.of(body);
    return other
      ? other.issue(body, { dpop: call, origin, authorization, closed: closedSignal(res!) })
      : this.auth.exchange(body, call, origin);
  }

  /**
   * Obtain a new access token
   *
   * The refresh token is neither replaced, nor extended, nor revoked. If the session began with a `DPoP`
   * proof, a refresh needs a new proof of this key.
   *
   * @returns A new access token.
   * @throws OAuthError `invalid_grant`, `invalid_dpop_proof`
   */
  @Post('refresh')
  @RateLimit('refresh')
  @HttpCode(200)
  refresh(
    @Body() body: RefreshDto,
    @Req() request: Request,
    @Headers('dpop') header?: string,
  ): Promise<RefreshedToken> {
    const call = { header, path: '/oauth2/refresh' } as const;
    return this.auth.refresh(body, call, () => originOf(request));
  }
}

/** Error: the client is no program that a feature knows. @public */
export function notForResource(): OAuthError {
  return new OAuthError('invalid_target', 'this client gets no tokens for a resource');
}

function closedSignal(response: Response): AbortSignal {
  const closed = new AbortController();
  if (response.closed) closed.abort();
  response.once('close', () => closed.abort());
  return closed.signal;
}
