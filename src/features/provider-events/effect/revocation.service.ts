import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { hashOfName } from '../../../token/sessions/recent-ends.js';
import { invalidRevocation, type RevocationToken } from '../verify/provider-tokens.js';
import { OtherSubject, readSubject } from '../verify/subject.js';
import { namesOf } from '../verify/transmitter.js';
import { MeantUsers } from './meant-users.js';
import { ProviderEnds } from './provider-ends.js';
import { SignalQueue } from './signal-queue.js';

const OPTIONS = { cause: 'signal', until: null } as const;

/** Ends all sessions of a user (draft-parecki-oauth-global-token-revocation). */
@Injectable()
export class Revocation {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly meant: MeantUsers,
    private readonly ends: ProviderEnds,
    private readonly queue: SignalQueue,
  ) {}

  /**
   * Ends all sessions of the user whom the body names.
   * @throws OAuthError `invalid_token` for a used token, `invalid_request`, `not_found`
   */
  async apply(
    provider: string,
    { issuer, jti, until }: RevocationToken,
    body: Readonly<Record<string, unknown>>,
    origin: Origin,
  ): Promise<void> {
    const by = { ...origin, actor: { type: 'signal', name: provider } } as const;
    const names = { issuers: namesOf(this.providers.get(provider).settings), critical: [] };
    const subject = readSubject(body['sub_id'] ?? body['subject'], names);
    if (!subject) throw new OAuthError('invalid_request', 'sub_id is missing or malformed');
    if (subject instanceof OtherSubject || !subject.user) throw unprocessable();
    const { user } = subject;
    const find = async (manager: EntityManager) => {
      const meant = await this.meant.find(manager, provider, { user });
      return meant instanceof OtherSubject ? undefined : meant;
    };
    await this.queue.run(provider, JSON.stringify({ user }), async () => {
      const tokenHash = hashOfName(provider, 'revocation', issuer, jti);
      let sessions = 0;
      const isNew = await this.ends.applyOnce(tokenHash, until, async (within) => {
        const meant = await find(within.manager);
        if (!meant) throw unprocessable();
        const { isLast, count } = await this.ends.endSlice(within, provider, meant, by, OPTIONS);
        sessions += count;
        const reason = `global-token-revocation: sessions ended: ${sessions}`;
        if (isLast) await this.ends.record(within.manager, provider, meant.userIds[0], reason, by);
        return isLast;
      });
      if (!isNew) throw invalidRevocation(new Error('it was used before'));
      // The end is stored also of an unknown user, whose first sign-in may be in progress.
      if (await this.ends.endLate(find, by, OPTIONS)) return;
      throw new OAuthError('not_found', 'there is no such user');
    });
  }
}

/** Well-formed, but not about one user of the provider. */
function unprocessable(): OAuthError {
  return new OAuthError('invalid_request', 'sub_id does not name one user of the provider', { status: 422 });
}
