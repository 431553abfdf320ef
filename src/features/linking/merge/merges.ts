import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { UserRemoval } from '../../../auth/sign-out/user-removal.js';
import { ChannelHistory } from '../../../channel/channel.history.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../../platform/events.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { lockEach } from '../../../user/lock-user.js';
import { UserLifecycles } from '../../../user/user-lifecycle.js';
import { UserStore } from '../../../user/user.store.js';
import {
  JoinedIdentities,
  type JoinedIdentity,
  type NewIdentity,
} from '../identities/joined-identities.store.js';
import { checkRoom, Identities } from '../joining/identities.service.js';
import { LinkingSessions } from '../joining/linking-session.js';
import { MergeTokens } from './merge-tokens.js';

declare module '../../../user/user-lifecycle.js' {
  interface UserStates {
    /** What the directory says of the user. */
    readonly directory?: { readonly active: boolean; readonly changed_at: Date };
  }
}

const CAUSE = 'merged';

/** Makes one user part of another one (docs/guides/linking.md#two-users-who-are-one-person). */
@Injectable()
export class Merges {
  constructor(
    private readonly tokens: MergeTokens,
    private readonly identities: JoinedIdentities,
    private readonly joining: Identities,
    private readonly sessions: LinkingSessions,
    private readonly providers: ProviderRegistry,
    private readonly users: UserStore,
    private readonly lifecycles: UserLifecycles,
    private readonly signOuts: SignOutService,
    private readonly removals: UserRemoval,
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
  ) {}

  /**
   * Ends the sessions of the user who has the identity of a token, removes what is stored of them, and joins
   * the identity. The last transaction does what counts: an interrupted merge has only signed the other user
   * out, and removed what waits in their channel.
   * @returns id of the former user
   * @throws OAuthError `invalid_grant`, `access_denied`
   */
  async merge(caller: SessionIds, token: string, origin: Origin): Promise<string> {
    const joined = await this.tokens.spend(caller, token);
    const { userId } = caller;
    const former = joined.identityId;
    await this.history.transaction(({ manager }) => this.judge(manager, caller, joined));
    const all = { userId: former, sessionId: null, deviceId: null };
    await this.signOuts.signOut('all', all, origin, { cause: CAUSE });
    await this.removals.removeMost(former);
    await this.history.transactionOf(userId, async ({ manager, append }) => {
      const { other, come } = await this.judge(manager, caller, joined);
      await this.removals.removeRest(manager, other, origin, CAUSE);
      // Something else keeps the account out, and would not keep the identity out.
      if ((await this.users.stateOf(former, manager)) !== undefined) throw cannotMerge();
      for (const one of [joined, ...come]) await this.identities.add(manager, { ...one, userId });
      await append('identities.changed', [[userId, {}]]);
      const { provider, providerUserId } = joined;
      await this.audit.write(manager, [
        { event: 'user_merged', userId, provider, providerUserId, formerUserId: former, origin },
      ]);
    });
    return former;
  }

  /**
   * Locks both users, in order of id.
   * @returns the other user, and the identities that are joined to theirs and come along
   */
  private async judge(
    manager: EntityManager,
    caller: SessionIds,
    { identityId, provider }: NewIdentity,
  ): Promise<{
    readonly other: Pick<JoinedIdentity, 'userId' | 'provider'>;
    readonly come: readonly NewIdentity[];
  }> {
    const { userId } = caller;
    // A hidden user is locked after the one who has it, whatever the order of their ids.
    if ((await this.users.stateOf(identityId, manager)) !== 'user') throw notThere();
    const locked = await lockEach(manager, [userId, identityId], 'removal');
    const user = locked.find((one) => one.userId === userId && one.removedAt === null);
    const other = locked.find((one) => one.userId === identityId && one.removedAt === null);
    if (!user || !other) throw notThere();
    await this.sessions.requireLive(caller, manager);
    this.joining.requireLink(user, provider);
    if (user.suspendedAt || other.suspendedAt) throw cannotMerge();
    const state = (await this.lifecycles.describe([other])).get(identityId);
    if (state?.directory || (await this.lifecycles.right(identityId))) throw cannotMerge();
    const present = await this.identities.find(userId, manager);
    const taken = new Set([user.provider, provider, ...present.map((one) => one.provider)]);
    const links = this.providers.find(user.provider)?.settings.links ?? [];
    const theirs = await this.identities.find(identityId, manager);
    const come = theirs.filter((one) => links.includes(one.provider) && !taken.has(one.provider));
    checkRoom(
      [...present, ...come],
      present.find((one) => one.provider === provider),
    );
    return { other, come };
  }
}

function notThere(): OAuthError {
  return new OAuthError('invalid_grant', 'the user is not there any more');
}

function cannotMerge(): OAuthError {
  const reason = 'suspended, of a directory, or with rights';
  return new OAuthError('access_denied', 'this user cannot become part of another one', { reason });
}
