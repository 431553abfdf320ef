import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Origin } from '../audit/audit-event.js';
import { ChannelHistory } from '../channel/channel.history.js';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { Clock } from '../platform/database/clock.js';
import { CONFIRM_READ, Sql } from '../platform/database/sql.js';
import { plainArray } from '../platform/database/batching.js';
import { OneAtATime } from '../platform/database/limits.js';
import { areWithinLimits, describeCuts, fitClaims } from '../identity/claim-limits.js';
import {
  areSameClaims,
  effectiveClaims,
  NO_CLAIMS,
  type Claims,
  type UserClaims,
} from '../identity/claims.js';
import { beyondLimits, toClaims, UserChanges, type UserChange } from './user-changes.store.js';
import type { User } from './user.entity.js';

const logger = new Logger('ProviderClaims');

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
    private readonly changes: UserChanges,
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
    const byProvider: Origin = { ...origin, actor: { type: 'provider', name } };
    const replaced = current && (await this.replace(userId, 'provider', provider, byProvider));
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
      this.history.transaction(async (transaction) => {
        let before: User | undefined;
        const change = ([user]: readonly User[]): ReadonlyMap<string, UserChange> => {
          before = user;
          if (source === 'provider' && user?.suspendedAt) return new Map();
          return new Map([[userId, { replaced: { [source]: claims } }]]);
        };
        const [user = before] = await this.changes.apply(transaction, [userId], change, origin, source);
        const isSame = user?.claimsVersion === before?.claimsVersion;
        if (isSame) await transaction.manager.query(CONFIRM_READ.text);
        return user && toClaims(user);
      }),
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
}

/** Whether a user has the claims that the provider sent, as far as they fit. */
function isAsSent({ provider, application }: UserClaims, sent: Claims): boolean {
  const hasOthers = Object.keys(application).length > 0;
  return areSameClaims(provider, hasOthers ? fitClaims(sent, application).claims : sent);
}
