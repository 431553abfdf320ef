import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { pickClaims, tokenMembers } from '../../identity/claims.js';
import { ClaimsStore } from '../../user/claims.store.js';
import { ServiceKeyOnly } from '../../platform/http/access.js';
import { type Introspection, TokenAndHintDto } from './introspect.dto.js';
import { TokenInspector } from './token-inspector.js';

@Controller('oauth2')
export class IntrospectController {
  constructor(
    private readonly tokens: TokenInspector,
    private readonly claims: ClaimsStore,
  ) {}

  /**
   * Whether a token is active, and its claims
   *
   * RFC 7662. A refresh token is inactive unless `token_type_hint` is `refresh_token`: it must never give
   * access. The service key of an API with tokens of its own learns of these only.
   *
   * @returns The claims, or that the token is not active.
   */
  @ServiceKeyOnly('read', { asPassword: true, ofAudience: true })
  @Post('introspect')
  @HttpCode(200)
  async introspect(
    @Body() { token, token_type_hint: hint }: TokenAndHintDto,
    @Req() { audience: caller }: Request,
  ): Promise<Introspection> {
    const inspected = await this.tokens.inspect(token);
    if (!inspected) return { active: false };
    if (inspected.kind === 'refresh_token' && hint !== 'refresh_token') return { active: false };
    const { session, authentication, kind, jti, iat, exp, iss, aud, claimsVersion } = inspected;
    const { audience, clientId, scope } = inspected;
    // An API learns of its own tokens only.
    if (caller !== undefined && audience?.resource !== caller) return { active: false };
    const { userId: sub, sessionId: sid, deviceId } = session;
    const ids = { sub, sid, device_id: deviceId ?? undefined, jti };
    const { effective } = await this.claims.current(sub, claimsVersion);
    const own = { active: true, ...ids, iat, exp, iss, aud, token_type: kind, ...authentication };
    if (!audience) return { ...own, ...tokenMembers(effective) };
    const delegated = { client_id: clientId, scope };
    return { ...own, ...delegated, ...tokenMembers(pickClaims(effective, audience.claims)) };
  }
}
