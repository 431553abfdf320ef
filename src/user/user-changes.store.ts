import { Injectable } from '@nestjs/common';
import { In, IsNull, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import type { ChangeSource } from '../audit/audit-names.js';
import type { Origin } from '../audit/audit-event.js';
import { AuditStore } from '../audit/audit.store.js';
import type { ChannelTransaction } from '../channel/channel.history.js';
import { addressKey } from '../platform/config/urls/email-address.js';
import { Clock } from '../platform/database/clock.js';
import { fitClaims } from '../identity/claim-limits.js';
import { areSameClaims, effectiveClaims, type Claims } from '../identity/claims.js';
import { layOver } from '../identity/lay-over.js';
import { claimDifference } from './claim-difference.js';
import { UserLifecycles } from './user-lifecycle.js';
import { replaceWords } from './user-words.store.js';
import { User } from './user.entity.js';

/** Users that one transaction changes at most. @public */
export const MOST_CHANGED = 1000;

/** What is to become of a user. An absent member stays as it is. */
export interface UserChange {
  /**
   * Returns the provider's claims from the present ones; claims that features lay over them stay.
   */
  readonly claims?: (present: Claims) => Claims;
  readonly profile?: Pick<User, 'username' | 'email'> | undefined;
}

/** A user as a change has left them. */
export type ChangedUser = User;

const PROFILE = ['username', 'email', 'email_key'];
const STATE = ['provider_claims', 'claims_version'];

/** Changes many users at once, as ClaimsStore changes the claims of one. */
@Injectable()
export class UserChanges {
  constructor(
    private readonly audit: AuditStore,
    private readonly clock: Clock,
    private readonly lifecycles: UserLifecycles,
  ) {}

  /**
   * Changes users in the caller's transaction, which locks them in one order. If effective claims change, it
   * appends `claims.changed` to the channel of the user.
   * @param userIds MOST_CHANGED at most; unknown users are left out
   * @param read returns the changes, once the users are locked: what it reads then includes every change of
   *   them before
   * @param source of the claims, for the audit trail
   * @returns the users as they are then
   */
  async apply(
    { manager, appendToEach }: ChannelTransaction,
    userIds: readonly string[],
    read: () => ReadonlyMap<string, UserChange> | Promise<ReadonlyMap<string, UserChange>>,
    origin: Origin,
    source: ChangeSource = 'provider',
  ): Promise<ChangedUser[]> {
    const locked = await this.lock(manager, userIds.toSorted());
    if (locked.length === 0) return [];
    const changes = await read();
    const users = locked.filter(({ userId }) => changes.has(userId));
    const now = Math.floor(this.clock.now());
    const overlays = await this.lifecycles.overlays(
      manager,
      users.map(({ userId }) => userId),
    );
    const results = users.map((user) =>
      changed(user, changes.get(user.userId)!, overlays.get(user.userId) ?? {}, now),
    );
    const ofClaims = results.filter(({ hasOtherClaims }) => hasOtherClaims).map(({ user }) => user);
    const others = results.filter((one) => one.isOther && !one.hasOtherClaims).map(({ user }) => user);
    // One statement for all: an INSERT with a conflict for each row is the only form of the query builder.
    if (others.length > 0) await write(manager, others, [...PROFILE, ...STATE]);
    if (ofClaims.length > 0) {
      // Not now(): a change that waited for the lock would have an earlier time than the one before.
      const timed = ofClaims.map((user) =>
        Object.assign({}, user, { claimsChangedAt: () => 'clock_timestamp()' }),
      );
      await write(manager, timed, [...PROFILE, ...STATE, 'claims', 'claims_changed_at']);
      const data = ofClaims.map(({ userId, claims }) => [userId, { claims: claims ?? {} }] as const);
      await appendToEach('claims.changed', new Map(data));
      const { recordsClaims } = this.audit;
      const before = new Map(users.map((user) => [user.userId, user.claims ?? {}]));
      await this.audit.write(
        manager,
        ofClaims.map(({ userId, provider, claims }) => {
          const difference = claimDifference(source, before.get(userId)!, claims ?? {}, recordsClaims);
          return { event: 'claims_changed', userId, provider, changes: difference, origin };
        }),
      );
    }
    const renamed = results.filter(({ hasOtherProfile }) => hasOtherProfile).map(({ user }) => user);
    if (renamed.length > 0) await replaceWords(manager, renamed);
    return results.map(({ user }) => user);
  }

  /** @param userIds in order */
  protected lock(manager: EntityManager, userIds: readonly string[]): Promise<User[]> {
    return this.locking(manager)
      .andWhere({ userId: In(userIds) })
      .orderBy('one.userId')
      .getMany();
  }

  /** Returns a query of users that locks them. */
  protected locking(manager: EntityManager): SelectQueryBuilder<User> {
    return manager
      .createQueryBuilder(User, 'one')
      .where({ removedAt: IsNull() })
      .setLock('for_no_key_update');
  }
}

async function write(manager: EntityManager, users: readonly object[], columns: string[]): Promise<void> {
  const insert = manager
    .createQueryBuilder()
    .insert()
    .into(User)
    .values(users as never[]);
  await insert.orUpdate(columns, ['user_id']).updateEntity(false).execute();
}

/**
 * Returns the user after a change, and what is different.
 * @param overlay claims that features lay over the provider's
 * @param now milliseconds since the epoch
 */
function changed(
  user: User,
  { claims, profile }: UserChange,
  overlay: Claims,
  now: number,
): {
  readonly user: User;
  readonly isOther: boolean;
  readonly hasOtherClaims: boolean;
  readonly hasOtherProfile: boolean;
} {
  const before = { provider: user.providerClaims ?? {}, application: user.applicationClaims ?? {} };
  const provider = claims
    ? fitClaims(layOver(claims(before.provider), overlay).claims, before.application).claims
    : before.provider;
  const effective = effectiveClaims(provider, before.application);
  const isSame = areSameClaims(provider, before.provider);
  const after: User = Object.assign(
    {},
    user,
    profile && { ...profile, emailKey: toKey(profile.email) },
    !isSame && {
      providerClaims: toColumn(provider),
      claims: toColumn(effective),
      claimsVersion: String(Math.max(Number(user.claimsVersion) + 1, now)),
    },
  );
  const hasOtherClaims = !isSame && !areSameClaims(effective, user.claims ?? {});
  const hasOtherProfile = after.username !== user.username || after.email !== user.email;
  const isOther = !isSame || hasOtherProfile;
  return { user: after, isOther, hasOtherClaims, hasOtherProfile };
}

function toColumn(claims: Claims): Claims | null {
  return Object.keys(claims).length > 0 ? claims : null;
}

function toKey(text: string | null): string | null {
  return text === null ? null : addressKey(text);
}
