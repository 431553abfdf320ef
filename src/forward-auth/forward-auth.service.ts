import { Injectable } from '@nestjs/common';
import { Clock } from '../database/clock.js';
import type { VerifiedToken } from '../token/access-tokens/access-token.verifier.js';
import { ClaimsStore } from '../user/claims.store.js';
import type { ForwardAuthDto } from './forward-auth.dto.js';
import { identityHeaders } from './identity-headers.js';
import { requireLists, requireRecent } from './requirements.js';

@Injectable()
export class ForwardAuth {
  constructor(
    private readonly claims: ClaimsStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the headers for the API, if the user meets the requirements.
   * @throws OAuthError `insufficient_scope`, `insufficient_user_authentication` or `server_error`
   */
  async headersFor(
    { session, claims: token, claimsVersion }: VerifiedToken,
    needed: ForwardAuthDto,
  ): Promise<Readonly<Record<string, string>>> {
    const { effective } = await this.claims.current(session.userId, claimsVersion);
    requireLists(needed, effective);
    requireRecent(needed, token, this.clock.now() / 1000);
    return identityHeaders(session, effective, needed.claims !== undefined);
  }
}
