import { Body, Controller, HttpCode, Ip, Post } from '@nestjs/common';
import { type Origin, RequestOrigin } from '../../audit/audit-event.js';
import { Sql } from '../../platform/database/sql.js';
import { SignOutService } from '../../device/sign-out.service.js';
import type { RevokeReason } from '../../platform/events.js';
import { OAuthParameters, OptionalText } from '../../platform/http/parameters/parameter.js';
import { RateLimits } from '../../platform/http/rate-limit.js';
import { Public } from '../../platform/http/access.js';
import { TokenAndHintDto } from '../../token/access-tokens/introspect.dto.js';
import { TokenInspector } from '../../token/access-tokens/token-inspector.js';

/** Body of POST /oauth2/revoke (RFC 7009 §2.1). */
@OAuthParameters()
export class RevokeDto extends TokenAndHintDto {
  /**
   * Why the session ends, for the audit trail: `user`, or the client lost its key or its storage, or has a
   * new session.
   */
  @OptionalText({
    matches: {
      pattern: /^(?:user|key_lost|storage_lost|replaced)$/,
      as: 'user, key_lost, storage_lost or replaced',
    },
  })
  reason?: RevokeReason;
}

@Controller('oauth2')
export class RevokeController {
  constructor(
    private readonly tokens: TokenInspector,
    private readonly signOuts: SignOutService,
    private readonly limits: RateLimits,
    private readonly sql: Sql,
  ) {}

  /**
   * End the session of a token
   *
   * Every holder of the token may end it (RFC 7009); there is no other credential. An unknown token gets this
   * answer, too.
   *
   * @returns The token is not valid any more.
   * @throws OAuthError `slow_down`
   */
  @Public()
  @Post('revoke')
  @HttpCode(200)
  async revoke(
    @Body() { token, reason }: RevokeDto,
    @RequestOrigin() origin: Origin,
    @Ip() address?: string,
  ): Promise<Record<string, never>> {
    // Beyond the limit a valid token is still accepted (docs/security.md#requests), so the limit only chooses
    // the batch.
    const isSuspect = await this.limits.isExceeded('bad_token', address);
    const inspected = await this.tokens.find(token, isSuspect);
    if (inspected) {
      const cause = reason === 'replaced' ? reason : undefined;
      await this.signOuts.signOut('session', inspected.session, origin, { reason, cause });
    } else {
      await this.limits.count('bad_token', address);
      await this.sql.confirmRead(); // its session may have been ended before
    }
    return {};
  }
}
