import { Injectable } from '@nestjs/common';
import { In, IsNull, type EntityManager } from 'typeorm';
import type { ChangeSource } from '../audit/audit-names.js';
import type { Origin } from '../audit/audit-event.js';
import { AuditStore } from '../audit/audit.store.js';
import type { ChannelTransaction } from '../channel/channel.history.js';
import { addressKey } from '../platform/config/urls/email-address.js';
import { chunks } from '../platform/database/batching.js';
import { Clock } from '../platform/database/clock.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import {
  areWithinLimits,
  fitClaims,
  MAX_CLAIMS,
  MAX_CLAIMS_BYTES,
  layOver,
} from '../identity/claim-limits.js';
import { areSameClaims, effectiveClaims, type Claims, type UserClaims } from '../identity/claims.js';
import { claimDifference } from './claim-difference.js';
import { replaceWords } from './search/user-words.store.js';
import { User } from './user.entity.js';

/** Users that one transaction changes at most. @public */
export const MOST_CHANGED = 1000;

/** What is to become of a user. An absent member stays as it is. */
export interface UserChange {
  /**
   * Returns the provider's claims from the present ones; claims that features lay over them stay.
   */
  readonly claims?: (present: Claims) => Claims;
  /**
   * Claims of one source, in place of the present ones: the provider's with those that features lay over
   * them.
   */
  readonly replaced?: Partial<Pick<UserClaims, 'provider' | 'application'>>;
  readonly profile?: Pick<User, 'username' | 'email'> | undefined;
}

/** A user as a change has left them. */
export type ChangedUser = User;

const PROFILE = ['username', 'email', 'email_key'];
const STATE = ['provider_claims', 'application_claims', 'claims_version'];

/** Changes claims of users, and what their provider says of them between sign-ins. */
@Injectable()
export class UserChanges {
  /** Users that one statement locks. */
  protected readonly mostLocked: number = MOST_CHANGED;

  constructor(
    private readonly audit: AuditStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Changes users in the caller's transaction, which locks them in one order. If effective claims change, it
   * appends `claims.changed` to the channel of the user.
   * @param userIds MOST_CHANGED at most; unknown users are left out
   * @param read returns the changes, once the users are locked: what it reads then includes every change of
   *   them before
   * @param source of the claims, for the audit trail
   * @returns the users as they are then
   * @throws OAuthError `invalid_request` if the application's claims exceed the limits
   */
  async apply(
    { manager, append }: ChannelTransaction,
    userIds: readonly string[],
    read: (
      locked: readonly User[],
    ) => ReadonlyMap<string, UserChange> | Promise<ReadonlyMap<string, UserChange>>,
    origin: Origin,
    source: ChangeSource = 'provider',
  ): Promise<ChangedUser[]> {
    const locked = await this.lock(manager, userIds.toSorted());
    if (locked.length === 0) return [];
    const changes = await read(locked);
    const users = locked.filter(({ userId }) => changes.has(userId));
    const now = Math.floor(this.clock.now());
    const results = users.map((user) => changed(user, changes.get(user.userId)!, now));
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
      await append('claims.changed', data);
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
  private async lock(manager: EntityManager, userIds: readonly string[]): Promise<User[]> {
    const users: User[] = [];
    for (const some of chunks(userIds, this.mostLocked)) {
      const locked = await manager.find(User, {
        where: { userId: In(some), removedAt: IsNull() },
        order: { userId: 'ASC' },
        lock: { mode: 'for_no_key_update' },
      });
      users.push(...locked);
    }
    return users;
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
 * @param now milliseconds since the epoch
 */
function changed(
  user: User,
  { claims, replaced, profile }: UserChange,
  now: number,
): {
  readonly user: User;
  readonly isOther: boolean;
  readonly hasOtherClaims: boolean;
  readonly hasOtherProfile: boolean;
} {
  const before = toClaims(user);
  const application = replaced?.application ?? before.application;
  const sent = claims
    ? layOver(claims(before.provider), user.identity?.overlay ?? {}).claims
    : replaced?.provider;
  const provider = sent ? fitClaims(sent, application).claims : before.provider;
  const isSame = areSameClaims(provider, before.provider) && areSameClaims(application, before.application);
  const effective = effectiveClaims(provider, application);
  // Under the lock of the user, so that a concurrent sign-in does not exceed the limits either.
  if (!isSame && !areWithinLimits(effective)) throw beyondLimits();
  // A new version in any case: another instance must not take its old claims of a source for the current
  // ones.
  const version = Math.max(before.version + 1, now);
  const after: User = Object.assign(
    {},
    user,
    profile && { ...profile, emailKey: profile.email === null ? null : addressKey(profile.email) },
    !isSame && toColumns({ version, provider, application, effective }),
  );
  const hasOtherClaims = !isSame && !areSameClaims(effective, before.effective);
  const hasOtherProfile = after.username !== user.username || after.email !== user.email;
  return { user: after, isOther: !isSame || hasOtherProfile, hasOtherClaims, hasOtherProfile };
}

export function toClaims({ claimsVersion, providerClaims, applicationClaims, claims }: User): UserClaims {
  return {
    version: Number(claimsVersion),
    provider: providerClaims ?? {},
    application: applicationClaims ?? {},
    effective: claims ?? {},
  };
}

export function toColumns({ version, provider, application, effective }: UserClaims) {
  // The type of TypeORM takes unknown values for functions that return SQL.
  const column = (claims: Claims) =>
    Object.keys(claims).length > 0 ? (claims as Record<string, never>) : null;
  return {
    claimsVersion: String(version),
    providerClaims: column(provider),
    applicationClaims: column(application),
    claims: column(effective),
  };
}

export function beyondLimits(): OAuthError {
  const limits = `${MAX_CLAIMS} names and ${MAX_CLAIMS_BYTES} bytes of JSON`;
  const advice = 'with map_groups and the like, the provider keeps fewer';
  return new OAuthError('invalid_request', `provider and application together may have ${limits}: ${advice}`);
}
