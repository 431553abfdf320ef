import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { OAuthParameters, OptionalText, RequiredText } from '../../http/parameters/parameter.js';
import { tokenMembers } from '../../identity/claims.js';
import { ClaimsStore } from '../../user/claims.store.js';
import { ServiceKeyOnly } from '../guard/access.js';
import { TokenInspector } from './token-inspector.js';

/** Body of POST /oauth2/introspect (RFC 7662 §2.1) and POST /oauth2/revoke (RFC 7009 §2.1). */
@OAuthParameters()
export class TokenAndHintDto {
  /** A refresh token or an access token. */
  @RequiredText()
  token!: string;

  /** The kind of token that the caller expects. Only introspection uses it: a refresh token needs `refresh_token` there. */
  @OptionalText()
  token_type_hint?: string;
}

/** Answer of POST /oauth2/introspect (RFC 7662 §2.2). Members that a token does not have are left out. */
export class Introspection {
  /** Whether the token is valid now. All other members are present only if it is. */
  active!: boolean;

  /** The user: a UUID. */
  sub?: string;

  /** The session: a UUID. */
  sid?: string;

  /** The device: a UUID; left out for a session without a device. */
  device_id?: string | undefined;

  /** Id of the token: a UUID; left out for a refresh token. */
  jti?: string | undefined;

  /** Time of issue: seconds since the epoch. */
  iat?: number;

  /** Expiry: seconds since the epoch. */
  exp?: number;

  /** Issuer: PUBLIC_URL. */
  iss?: string;

  /** Audience: PUBLIC_URL. */
  aud?: string;

  /** `Bearer` for an access token, else `refresh_token`. */
  token_type?: 'Bearer' | 'refresh_token';

  /** When the user authenticated, as the provider reports it: seconds since the epoch (RFC 9470 §6.2). */
  auth_time?: number | undefined;

  /** Authentication context class, as the provider reports it. */
  acr?: string | undefined;

  /** Authentication methods, as the provider reports them. */
  amr?: string[] | undefined;

  /**
   * Current claims of the user, as in an access token: six at the top level, all others in `claims`
   * (docs/guides/roles.md#in-the-token).
   */
  roles?: string[];

  groups?: string[];

  entitlements?: string[];

  name?: string;

  email?: string;

  preferred_username?: string;

  claims?: Record<string, unknown>;
}

@Controller('oauth2')
export class IntrospectController {
  constructor(
    private readonly tokens: TokenInspector,
    private readonly claims: ClaimsStore,
  ) {}

  /**
   * Whether a token is active, and its claims
   *
   * RFC 7662. A refresh token is inactive unless `token_type_hint` is `refresh_token`: it must never give access.
   *
   * @returns The claims, or that the token is not active.
   */
  @ServiceKeyOnly('read', { asPassword: true })
  @Post('introspect')
  @HttpCode(200)
  async introspect(@Body() { token, token_type_hint: hint }: TokenAndHintDto): Promise<Introspection> {
    const inspected = await this.tokens.inspect(token);
    if (!inspected) return { active: false };
    if (inspected.kind === 'refresh_token' && hint !== 'refresh_token') return { active: false };
    const { session, authentication, kind, jti, iat, exp, iss, aud, claimsVersion } = inspected;
    const { userId: sub, sessionId: sid, deviceId } = session;
    const ids = { sub, sid, device_id: deviceId ?? undefined, jti };
    const { effective } = await this.claims.current(sub, claimsVersion);
    const own = { active: true, ...ids, iat, exp, iss, aud, token_type: kind, ...authentication };
    return { ...own, ...tokenMembers(effective) };
  }
}
