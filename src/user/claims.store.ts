import { Inject, Injectable, Logger } from '@nestjs/common';
import { IsNull } from 'typeorm';
import type { Origin } from '../audit/audit-event.js';
import { AuditStore } from '../audit/audit.store.js';
import { ChannelHistory, type ChannelTransaction } from '../channel/channel.history.js';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { Clock } from '../platform/database/clock.js';
import { CONFIRM_READ, Sql } from '../platform/database/sql.js';
import { plainArray } from '../platform/database/batching.js';
import { OneAtATime } from '../platform/database/limits.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import {
  areWithinLimits,
  describeCuts,
  fitClaims,
  MAX_CLAIMS,
  MAX_CLAIMS_BYTES,
} from '../identity/claim-limits.js';
import {
  areSameClaims,
  effectiveClaims,
  NO_CLAIMS,
  type Claims,
  type UserClaims,
} from '../identity/claims.js';
import { claimDifference } from './claim-difference.js';
import { User } from './user.entity.js';

const logger = new Logger('ProviderClaims');

/** Source of claims. */
type Source = 'provider' | 'application';

/** Users whose claims an instance caches: at the limits of claims, which few users reach, some 100 MB. */
const MOST_CACHED = 10_000;

// Raw: prepared and batched, on the path of sign-ins and refreshes.
const FIND = {
  name: 'claims',
  text: `
    SELECT user_id AS "userId", claims_version::float8 AS version, coalesce(provider_claims, '{}') AS provider,
      coalesce(application_claims, '{}') AS application, coalesce(claims, '{}') AS effective
    FROM users WHERE user_id = ANY ($1::uuid[]) AND removed_at IS NULL`,
};

// Raw: of no table. Not now(), the begin of the transaction: a change that waited for the lock would have an
// earlier time than the one before.
const TIME = 'SELECT clock_timestamp() AS at';

/** Claims of users. The statement that stores a token compares their version, so cached claims may be old. */
@Injectable()
export class ClaimsStore {
  /** Claims of users that have any, by user; the least recently used first. */
  private readonly cache = new Map<string, UserClaims>();
  /**
   * Changes, by source: one of a user at a time, and of all users with a quarter of the pool's connections:
   * the others are for requests.
   */
  private readonly queue: Readonly<Record<Source, OneAtATime>>;
  private readonly read: (userId: string) => Promise<UserClaims | undefined>;

  constructor(
    private readonly sql: Sql,
    private readonly history: ChannelHistory,
    private readonly clock: Clock,
    private readonly audit: AuditStore,
    @Inject(SETTINGS) { databasePoolSize }: Settings,
  ) {
    const queue = (): OneAtATime =>
      new OneAtATime('too many changes of claims', Math.ceil(databasePoolSize / 4));
    this.queue = { provider: queue(), application: queue() };
    this.read = sql.batched('claims', (userIds: string[]) => this.readEach(userIds));
  }

  /**
   * Returns the claims that a token is signed with; NO_CLAIMS for a user whom this instance does not know.
   */
  known(userId: string): UserClaims {
    const claims = this.cache.get(userId);
    return claims ? this.remember(userId, claims) : NO_CLAIMS;
  }

  /** Reads and caches the current claims; undefined without such a user. Concurrent calls are batched. */
  async find(userId: string): Promise<UserClaims | undefined> {
    const claims = await this.read(userId);
    if (!claims) this.cache.delete(userId);
    return claims && this.remember(userId, claims);
  }

  /** Returns the current claims: the cached ones, if they have the version that was read. */
  async current(userId: string, version?: number): Promise<UserClaims> {
    const known = this.known(userId);
    return known.version === version ? known : ((await this.find(userId)) ?? NO_CLAIMS);
  }

  /**
   * Returns the claims of a user who signs in, after those of the provider were replaced; a new user is not
   * stored yet.
   * @param provider within the limits alone; what exceeds them beside the application's claims is cut, with a
   *   warning
   */
  async atSignIn(userId: string, name: string, provider: Claims, origin: Origin): Promise<UserClaims> {
    const known = this.known(userId);
    if (isAsSent(known, provider)) return known;
    const current = await this.find(userId);
    if (current && isAsSent(current, provider)) return current;
    const replaced = current && (await this.replace(userId, 'provider', provider, origin));
    if (replaced) {
      const { cuts } = fitClaims(provider, replaced.application);
      if (cuts.length > 0) logger.warn(`provider ${name}, user_id ${userId}: ${describeCuts(cuts)}`);
      return replaced;
    }
    const effective = effectiveClaims(provider, {});
    const version = Object.keys(effective).length > 0 ? Math.floor(this.clock.now()) : 0;
    return { ...NO_CLAIMS, version, provider, effective };
  }

  /**
   * Returns the claims of a user who is created before the first sign-in. The version of any claims is not 0,
   * so that a sign-in at the same time reads them.
   * @throws OAuthError `invalid_request` beyond the limits
   */
  ofNewUser(application: Claims): UserClaims {
    const effective = effectiveClaims({}, application);
    if (!areWithinLimits(effective)) throw beyondLimits();
    const version = Object.keys(application).length > 0 ? Math.floor(this.clock.now()) : 0;
    return { ...NO_CLAIMS, version, application, effective };
  }

  /**
   * Replaces the claims of one source. If the effective claims change, the same transaction appends
   * `claims.changed` to the user's channel. Concurrent changes wait for the lock of the user's row: the last
   * one wins. A suspended user who signs in keeps the claims.
   * @returns the claims afterwards; undefined without such a user
   * @throws DatabaseBusy if too many changes wait, OAuthError `invalid_request` if those of the application
   *   exceed the limits
   */
  async replace(
    userId: string,
    source: Source,
    claims: Claims,
    origin: Origin,
  ): Promise<UserClaims | undefined> {
    const after = await this.queue[source].run(userId, () =>
      this.history.transaction((transaction) => this.replaceIn(transaction, userId, source, claims, origin)),
    );
    return after && this.remember(userId, after);
  }

  private async readEach(userIds: string[]): Promise<(UserClaims | undefined)[]> {
    const rows = await this.sql.query<UserClaims & { userId: string }>(FIND, [plainArray(userIds)]);
    const byUser = new Map(rows.map(({ userId, ...claims }) => [userId, claims]));
    return userIds.map((userId) => byUser.get(userId));
  }

  /** Caches claims as the most recently used; users that never had any need no entry. */
  private remember(userId: string, claims: UserClaims): UserClaims {
    this.cache.delete(userId);
    if (claims.version > 0) this.cache.set(userId, claims);
    if (this.cache.size > MOST_CACHED) this.cache.delete(this.cache.keys().next().value!);
    return claims;
  }

  private async replaceIn(
    { manager, append }: ChannelTransaction,
    userId: string,
    source: Source,
    sent: Claims,
    origin: Origin,
  ): Promise<UserClaims | undefined> {
    const user = await manager.findOne(User, {
      where: { userId, removedAt: IsNull() },
      lock: { mode: 'for_no_key_update' },
    });
    const before = user ? toClaims(user) : NO_CLAIMS;
    const claims = source === 'provider' ? fitClaims(sent, before.application).claims : sent;
    const stays = source === 'provider' && user?.suspendedAt;
    if (!user || stays || areSameClaims(before[source], claims)) {
      await manager.query(CONFIRM_READ.text);
      return user ? before : undefined;
    }
    const [time] = await manager.query<{ at: Date }[]>(TIME);
    const { at } = time!;
    // A new version in any case: another instance must not take its old claims of a source for the current
    // ones.
    const version = Math.max(before.version + 1, at.getTime());
    const changed = { ...before, [source]: claims, version };
    const effective = effectiveClaims(changed.provider, changed.application);
    // Under the lock of the user, so that a concurrent sign-in does not exceed them either.
    if (!areWithinLimits(effective)) throw beyondLimits();
    if (areSameClaims(effective, before.effective)) {
      await manager.update(User, { userId }, toColumns(changed));
      return changed;
    }
    const after = { ...changed, effective };
    await manager.update(User, { userId }, { ...toColumns(after), claimsChangedAt: at });
    await append(userId, 'claims.changed', [{ claims: effective }]);
    const name = user.provider;
    const from = source === 'application' ? origin : { ...origin, actor: { type: source, name } };
    const changes = claimDifference(source, before.effective, effective, this.audit.recordsClaims);
    const event = { event: 'claims_changed', userId, provider: name, changes, origin: from } as const;
    await this.audit.write(manager, [event]);
    return after;
  }
}

function toClaims({ claimsVersion, providerClaims, applicationClaims, claims }: User): UserClaims {
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

/** Whether a user has the claims that the provider sent, as far as they fit. */
function isAsSent({ provider, application }: UserClaims, sent: Claims): boolean {
  const hasOthers = Object.keys(application).length > 0;
  return areSameClaims(provider, hasOthers ? fitClaims(sent, application).claims : sent);
}

function beyondLimits(): OAuthError {
  const limits = `${MAX_CLAIMS} names and ${MAX_CLAIMS_BYTES} bytes of JSON`;
  const advice = 'with map_groups and the like, the provider keeps fewer';
  return new OAuthError('invalid_request', `provider and application together may have ${limits}: ${advice}`);
}
