import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { endedMeanwhile, toOAuthError } from '../../../auth/sign-in/sign-in.store.js';
import { ChannelHistory } from '../../../channel/channel.history.js';
import { Events } from '../../../platform/events.js';
import type { IssuedAccessToken, TokenContent } from '../../../token/access-tokens/access-token.js';
import { SessionTokens } from '../../../token/access-tokens/session-tokens.js';
import { lockWholeUser } from '../../../user/lock-user.js';
import { useOnce } from '../clients/used-assertions.js';
import type { AgentDevice } from '../devices/agent-device.entity.js';
import { AgentDevices } from '../devices/agent-device.store.js';
import { badAssertion, type Assertion } from './assertions.js';

/** Exchange of an assertion, after all checks of the sign-in. */
export interface Exchange {
  readonly userId: string;
  readonly assertion: Pick<Assertion, 'id' | 'expiry'>;
  readonly device: Omit<AgentDevice, 'userId' | 'sessionId'>;
  /** When the provider was asked: milliseconds, by the database's clock. */
  readonly requestedAt: number;
  readonly content: Omit<TokenContent, 'claims'>;
}

/** Takes the use of the assertion back. */
class NoSession extends Error {}

/** Sessions that all exchanges for one device share. */
@Injectable()
export class SharedSessions {
  constructor(
    private readonly history: ChannelHistory,
    private readonly devices: AgentDevices,
    private readonly tokens: SessionTokens,
    private readonly events: Events,
  ) {}

  /**
   * Uses the assertion up, and issues a token in the live session of its device, in one transaction.
   * @returns undefined if there is no such session; nothing has changed then
   * @throws OAuthError `invalid_grant`, `access_denied`
   */
  async issue(exchange: Exchange): Promise<IssuedAccessToken | undefined> {
    try {
      return await this.history.transactionOf(exchange.userId, ({ manager }) =>
        this.issueIn(manager, exchange),
      );
    } catch (error) {
      if (error instanceof NoSession) return undefined;
      throw error;
    }
  }

  private async issueIn(manager: EntityManager, exchange: Exchange): Promise<IssuedAccessToken> {
    const { userId, assertion, device, requestedAt, content } = exchange;
    const user = await lockWholeUser(manager, userId); // an end of the session waits, or was before
    if (!(await useOnce(manager, assertion.id, assertion.expiry))) {
      throw badAssertion('the assertion was used before');
    }
    const known = await this.devices.find(manager, { userId, deviceId: device.deviceId });
    if (known?.refusedAt) throw badAssertion('a person has ended the program');
    if (!user || !known) throw new NoSession();
    if (user.suspendedAt) throw toOAuthError('suspended');
    if (user.sessionsEndedAt && user.sessionsEndedAt.getTime() >= requestedAt) throw endedMeanwhile();
    const session = { userId, sessionId: known.sessionId, deviceId: device.deviceId };
    const issued = await this.tokens.issue(manager, session, { ...content, claims: user.claims ?? {} });
    if (!issued) throw new NoSession();
    const endsAt = new Date(Math.max(known.endsAt.getTime(), issued.exp * 1000));
    await this.devices.replace(manager, { ...device, ...session, allowedAt: known.allowedAt, endsAt });
    this.events.emit('session.used', session);
    return issued;
  }
}
