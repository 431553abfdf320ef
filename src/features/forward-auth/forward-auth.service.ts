import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../platform/database/clock.js';
import { describeCuts } from '../../identity/claim-limits.js';
import type { VerifiedToken } from '../../token/access-tokens/access-token.verifier.js';
import { ClaimsStore } from '../../user/claims.store.js';
import type { ForwardAuthDto } from './forward-auth.dto.js';
import { identityHeaders, MOST_BYTES } from './identity-headers.js';
import { requireLists, requireRecent } from './requirements.js';

/** Logged cuts of headers, by user and version of the claims. */
const MOST_LOGGED = 10_000;

@Injectable()
export class ForwardAuth {
  private readonly logger = new Logger(ForwardAuth.name);
  private readonly logged = new Set<string>();

  constructor(
    private readonly claims: ClaimsStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the headers for the API, if the user meets the requirements. Logs once if they had to be cut.
   * @throws OAuthError `insufficient_scope` or `insufficient_user_authentication`
   */
  async headersFor(
    verified: VerifiedToken,
    needed: ForwardAuthDto,
  ): Promise<Readonly<Record<string, string>>> {
    const { session, claims: token, claimsVersion } = verified;
    const { effective } = await this.claims.current(session.userId, claimsVersion);
    requireLists(needed, effective);
    requireRecent(needed, token, this.clock.now() / 1000);
    const { headers, cuts } = identityHeaders(verified, effective, needed.claims !== undefined);
    const which = `${session.userId} ${claimsVersion} ${cuts.length}`;
    if (cuts.length > 0 && !this.logged.has(which)) {
      if (this.logged.size === MOST_LOGGED) this.logged.clear();
      this.logged.add(which);
      const what = `headers beyond ${MOST_BYTES} bytes`;
      this.logger.warn(`user_id ${session.userId}: ${describeCuts(cuts, undefined, what)}`);
    }
    return headers;
  }
}
