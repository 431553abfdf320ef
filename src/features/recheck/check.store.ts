import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, type Repository, type UpdateQueryBuilder } from 'typeorm';
import { chunks } from '../../platform/database/batching.js';
import { forEachLimited } from '../../platform/database/last-use.js';
import { hasAccessToken, hasSession } from '../../token/sessions/session.store.js';
import { ProviderCheck } from './provider-check.entity.js';

/** Seconds for which one instance has a user: longer than a call and its statements take. */
const LEASE_S = 60;

/** Due users that one statement looks at. */
export const SLICE = 200;

const LARGEST_WRITE = 1000;

const HAS_ACCESS_TOKEN = hasAccessToken('provider_checks');
const HAS_SESSION = hasSession('provider_checks');

export interface DueUser {
  readonly userId: string;
  readonly isInUse: boolean;
  readonly hasSession: boolean;
  /** Seconds since the user became due. */
  readonly late: number;
}

/** Call that has begun. Only its holder writes the result, and no sign-in has been since. */
export type Lease = Pick<ProviderCheck, 'userId' | 'lease'>;

/** Rows of users whom providers are asked about again. */
@Injectable()
export class CheckStore {
  private readonly checks: Repository<ProviderCheck>;

  constructor(dataSource: DataSource) {
    this.checks = dataSource.getRepository(ProviderCheck);
  }

  has(userId: string): Promise<boolean> {
    return this.checks.existsBy({ userId });
  }

  /** Stores the refresh token of a sign-in. @param ttl seconds that a session lasts at most */
  async signedIn(
    row: Pick<ProviderCheck, 'userId' | 'provider' | 'refreshToken' | 'subject'>,
    { interval, ttl }: { readonly interval: number; readonly ttl: number },
  ): Promise<void> {
    const { userId, ...token } = row;
    const fresh = {
      ...token,
      signedInAt: () => 'now()',
      checkedAt: () => 'now()',
      dueAt: () => `now() + make_interval(secs => ${interval})`,
      lease: null,
      failingSince: null,
      attempts: 0,
    };
    const end = `now() + make_interval(secs => ${ttl})`;
    const change = { ...fresh, expiresAt: () => `greatest(expires_at, ${end})` };
    const { affected } = await this.checks.update({ userId }, change);
    if (affected! > 0) return;
    const insert = this.checks.createQueryBuilder().insert();
    await insert
      .values({ userId, ...fresh, expiresAt: () => end })
      .orIgnore() // a concurrent sign-in of the same user
      .updateEntity(false)
      .execute();
  }

  /** Extends the row for a sign-in without a refresh token. @returns whether there is one */
  async extend(userId: string, { interval, ttl }: { interval: number; ttl: number }): Promise<boolean> {
    const { affected } = await this.checks.update(
      { userId },
      {
        signedInAt: () => 'now()',
        dueAt: () => `least(due_at, now() + make_interval(secs => ${interval}))`, // a sign-in is a check, too
        expiresAt: () => `greatest(expires_at, now() + make_interval(secs => ${ttl}))`,
      },
    );
    return affected! > 0;
  }

  /** Makes idle users due. @param userIds each once */
  wake(userIds: readonly string[]): Promise<void> {
    return forEachLimited(chunks(userIds, LARGEST_WRITE), (some) =>
      this.change({ dueAt: () => 'now()' }, 'user_id = ANY (:some) AND due_at IS NULL', { some }),
    );
  }

  /** Returns the first due users of a provider, SLICE at most; reads no more of the table. */
  findDue(provider: string): Promise<DueUser[]> {
    return this.checks
      .createQueryBuilder('provider_checks')
      .select('provider_checks.userId', 'userId')
      .addSelect(HAS_ACCESS_TOKEN, 'isInUse')
      .addSelect(HAS_SESSION, 'hasSession')
      .addSelect('extract(epoch FROM now() - due_at)::float8', 'late')
      .where('provider = :provider AND due_at <= now()', { provider })
      .orderBy('due_at')
      .limit(SLICE)
      .getRawMany<DueUser>();
  }

  /** Begins calls for users, unless another instance has. @returns the rows, with the lease */
  async lease(userIds: readonly string[]): Promise<ProviderCheck[]> {
    const dueAt = (): string => `now() + make_interval(secs => ${LEASE_S})`;
    const lease = randomUUID();
    await this.change({ lease, dueAt }, 'user_id = ANY (:userIds) AND due_at <= now()', { userIds });
    return this.checks
      .createQueryBuilder('c')
      .where('user_id = ANY (:userIds) AND lease = :lease', { userIds, lease })
      .getMany();
  }

  /** Begins a call for a user who need not be due. @returns undefined without a row, or during a call */
  async leaseNow(userId: string): Promise<ProviderCheck | undefined> {
    const lease = randomUUID();
    const change = { lease, dueAt: () => `now() + make_interval(secs => ${LEASE_S})` };
    await this.change(change, 'user_id = :userId AND (lease IS NULL OR due_at IS NULL OR due_at <= now())', {
      userId,
    });
    return (await this.checks.findOneBy({ userId, lease })) ?? undefined;
  }

  /** Users without a session in use are not looked at until `wake`. */
  async rest(userIds: readonly string[]): Promise<void> {
    const isIdle = `user_id = ANY (:userIds) AND due_at <= now() AND NOT ${HAS_ACCESS_TOKEN}`;
    await this.change({ dueAt: null }, isIdle, { userIds });
  }

  async isLeased({ userId, lease }: Lease): Promise<boolean> {
    return lease !== null && (await this.checks.existsBy({ userId, lease }));
  }

  async rotated({ userId, lease }: Lease, refreshToken: Buffer): Promise<void> {
    await this.checks.update({ userId, lease: lease! }, { refreshToken });
  }

  /** @param checkedAt begin of the call */
  async succeeded({ userId, lease }: Lease, checkedAt: Date, interval: number): Promise<void> {
    const dueAt = new Date(checkedAt.getTime() + 1000 * interval);
    const good = { checkedAt, dueAt, failingSince: null, attempts: 0, lease: null };
    await this.checks.update({ userId, lease: lease! }, good);
  }

  async failed({ userId, lease }: Lease, failingSince: Date, dueAt: Date): Promise<void> {
    await this.checks.update(
      { userId, lease: lease! },
      { failingSince, dueAt, attempts: () => 'attempts + 1', lease: null },
    );
  }

  /** Notes when a session ends that a `session_expiry` has cut. */
  async endsAt(userId: string, at: Date): Promise<void> {
    await this.change({ endsAt: () => 'least(ends_at, :at)' }, 'user_id = :userId', { userId, at });
  }

  async setEndsAt(userId: string, endsAt: Date | null): Promise<void> {
    await this.checks.update({ userId }, { endsAt });
  }

  async findEnding(): Promise<string[]> {
    const rows = await this.checks
      .createQueryBuilder('c')
      .select('user_id', 'userId')
      .where('ends_at <= now()')
      .orderBy('ends_at')
      .limit(SLICE)
      .getRawMany<{ userId: string }>();
    return rows.map(({ userId }) => userId);
  }

  /** Removes rows of users without a session. A sign-in not visible yet writes `signed_in_at` after this. */
  async removeEnded(userIds: readonly string[], manager: EntityManager = this.checks.manager): Promise<void> {
    await manager
      .createQueryBuilder()
      .delete()
      .from(ProviderCheck)
      .where(`user_id = ANY (:userIds) AND signed_in_at < now() AND NOT ${HAS_SESSION}`, { userIds })
      .execute();
  }

  private async change(
    set: Parameters<UpdateQueryBuilder<ProviderCheck>['set']>[0],
    where: string,
    parameters: Record<string, unknown>,
  ): Promise<void> {
    await this.checks.createQueryBuilder().update().set(set).where(where, parameters).execute();
  }
}
