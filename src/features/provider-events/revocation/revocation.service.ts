import { Injectable } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditStore } from '../../../audit/audit.store.js';
import { ChannelHistory } from '../../../channel/channel.history.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { namesOf } from '../transmitter/transmitter.js';
import { forgetToken, hashOfName, rememberToken } from '../../../token/sessions/recent-ends.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { lockUser } from '../../../user/lock-user.js';
import { MeantUsers, type Meant } from '../effect/meant-users.js';
import { SignalEndings } from '../effect/signal-endings.js';
import { SignalQueue } from '../effect/signal-queue.js';
import { OtherSubject, readSubject } from '../receiver/subject.js';
import { refused, type RevocationToken } from './revocation-tokens.js';

const LONGER_S = 60; // seconds beyond the token's end, for differences between clocks

type Body = Readonly<Record<string, unknown>>;

/** Ends all sessions of a user (draft-parecki-oauth-global-token-revocation). */
@Injectable()
export class Revocation {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly meant: MeantUsers,
    private readonly endings: SignalEndings,
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
    private readonly queue: SignalQueue,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * Ends all sessions of the user whom the body names.
   * @throws OAuthError `invalid_token` for a used token, `invalid_request`, `not_found`
   */
  async apply(provider: string, token: RevocationToken, body: Body, origin: Origin): Promise<void> {
    const names = { issuers: namesOf(this.providers.get(provider).settings), critical: [] };
    const subject = readSubject(body['sub_id'] ?? body['subject'], names);
    if (!subject) throw new OAuthError('invalid_request', 'sub_id is missing or malformed');
    if (subject instanceof OtherSubject || !subject.user) throw unprocessable();
    const { user } = subject;
    await this.queue.run(provider, JSON.stringify({ user }), async () => {
      const found = await this.meant.find(this.dataSource.manager, provider, { user });
      if (found instanceof OtherSubject) throw unprocessable();
      const tokenHash = hashOfName(provider, 'revocation', token.issuer, token.jti);
      await this.end(provider, found, tokenHash, token.until + LONGER_S, origin);
      const find = (manager: EntityManager) => this.meant.find(manager, provider, { user });
      // The end is stored also of an unknown user, whose first sign-in may be in progress.
      if (await this.endings.endLate(find, origin, null)) return;
      throw new OAuthError('not_found', 'there is no such user');
    });
  }

  private async end(
    provider: string,
    meant: Meant,
    tokenHash: Buffer,
    until: number,
    origin: Origin,
  ): Promise<void> {
    const [userId] = meant.userIds;
    let [sessions, isLast] = [0, false];
    while (!isLast) {
      isLast = await this.history.transaction(async (within) => {
        const { manager } = within;
        if (!(await rememberToken(manager, tokenHash, until))) throw refused(new Error('it was used before'));
        const slice = await this.endings.endSlice(within, provider, meant, origin, null);
        sessions += slice.count;
        if (!slice.isLast) {
          await forgetToken(manager, tokenHash);
          return false;
        }
        const isKnown = userId !== undefined && (await lockUser(manager, userId)) !== undefined;
        const reason = `global-token-revocation: sessions ended: ${sessions}`;
        await this.audit.write(manager, [
          { event: 'signal_received', userId: isKnown ? userId : null, provider, reason, origin },
        ]);
        return true;
      });
    }
  }
}

/** Well-formed, but not about one user of the provider. */
function unprocessable(): OAuthError {
  return new OAuthError('invalid_request', 'sub_id does not name one user of the provider', { status: 422 });
}
