import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, Raw, type EntityManager } from 'typeorm';
import { UserLifecycle } from '../../../extensions.js';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import type { SealedIdentity } from '../../../auth/sealed-identities.js';
import type { Identity } from '../../../provider/identity/identity.js';
import { lockUser } from '../../../user/lock-user.js';
import { DeviceRequest } from './device-request.entity.js';

/** Seconds that a device has for its codes. */
export const CODE_TTL = 600;
/** Seconds between polls, and what a poll that comes too soon adds (RFC 8628 §3.5). */
export const INTERVAL = 5;
/** Seconds by which a poll may come early: clients measure the interval by timers, and requests overtake. */
const TOLERANCE = 1;

/** Requests that name a user: open at a time, and in an hour. Others do not reach the user. */
const MOST_OPEN = 3;
const MOST_AN_HOUR = 5;

export type NewDeviceRequest = Pick<
  DeviceRequest,
  | 'deviceCodeHash'
  | 'userCodeHash'
  | 'clientId'
  | 'deviceId'
  | 'deviceName'
  | 'userAgent'
  | 'address'
  | 'network'
  | 'number'
>;

/** What a poll finds. `expired`: also an unknown code, one of another client, and one that was used. */
export type Polled = 'open' | 'too_soon' | 'approved' | 'denied' | 'expired';

/** By a sign-in on the page. */
type ApprovalOnPage = SealedIdentity & { readonly approvedBy: null };

/**
 * The rest of the identity is read once the tokens are issued: rights that are taken away until then must not
 * return.
 */
interface ApprovalBySession {
  readonly provider: string;
  readonly approvedBy: string;
  readonly identity: Pick<Identity, 'acr' | 'amr'>;
}

/** Who decides, and how. */
export interface Decision {
  readonly userId: string;
  readonly origin: Origin;
  /** Absent: the person denies. */
  readonly approval?: ApprovalOnPage | ApprovalBySession;
}

const isFuture = () => Raw((column) => `${column} > now()`);
const openOf = (hintedUserId: string) =>
  ({ hintedUserId, state: 'open', codesExpireAt: isFuture() }) as const;
const WAITS = `state IN ('open', 'approved') AND codes_expire_at > now()`;

/** Rows of requests. Each step is one conditional UPDATE, so one of concurrent steps wins. */
@Injectable()
@UserLifecycle()
export class DeviceRequestStore implements UserLifecycle {
  constructor(
    private readonly dataSource: DataSource,
    private readonly audit: AuditStore,
  ) {}

  /** @returns id of the request */
  async create(request: NewDeviceRequest, origin: Origin): Promise<string> {
    const id = randomUUID();
    await this.dataSource.transaction(async (manager) => {
      const codesExpireAt = (): string => `now() + interval '${CODE_TTL} s'`;
      const expiresAt = (): string => `now() + interval '1 hour'`;
      await manager.insert(DeviceRequest, {
        ...request,
        id,
        pollInterval: INTERVAL,
        codesExpireAt,
        expiresAt,
      });
      const { deviceId } = request;
      await this.audit.write(manager, [{ event: 'device_requested', userId: null, deviceId, origin }]);
    });
    return id;
  }

  /** Finds a request that waits for a person. */
  findOpen(by: { readonly id: string } | { readonly userCodeHash: Buffer }): Promise<DeviceRequest | null> {
    const where = { ...by, state: 'open' as const, codesExpireAt: isFuture() };
    return this.dataSource.manager.findOneBy(DeviceRequest, where);
  }

  /** Finds the open requests that name a user, newest first. */
  findNaming(hintedUserId: string): Promise<DeviceRequest[]> {
    const newest = { order: { createdAt: 'DESC' }, take: MOST_OPEN } as const;
    return this.dataSource.manager.find(DeviceRequest, { where: openOf(hintedUserId), ...newest });
  }

  /** Lets a request name a user. @returns undefined if too many requests do, or there is no such user */
  name(id: string, userId: string): Promise<DeviceRequest | undefined> {
    return this.dataSource.transaction(async (manager) => {
      if ((await lockUser(manager, userId)) === undefined) return undefined; // concurrent requests wait
      const recent = { hintedUserId: userId, createdAt: Raw((at) => `${at} > now() - interval '1 hour'`) };
      if ((await manager.countBy(DeviceRequest, recent)) >= MOST_AN_HOUR) return undefined;
      if ((await manager.countBy(DeviceRequest, openOf(userId))) >= MOST_OPEN) return undefined;
      await manager.update(
        DeviceRequest,
        { id, state: 'open', hintedUserId: IsNull() },
        { hintedUserId: userId },
      );
      return (await manager.findOneBy(DeviceRequest, { id, hintedUserId: userId })) ?? undefined;
    });
  }

  /**
   * Counts a poll (RFC 8628 §3.5). Only an open request has an interval. A poll that comes too soon makes the
   * interval of the next one longer, once, and does not begin it anew: a client with a timer recovers.
   */
  async poll(deviceCodeHash: Buffer, clientId: string): Promise<Polled> {
    const tooSoon = `polled_at > now() - make_interval(secs => poll_interval - ${TOLERANCE})`;
    const code = { deviceCodeHash, clientId };
    const before = await this.dataSource.transaction(async (manager) => {
      const select = `${tooSoon} IS TRUE`;
      const found = await manager
        .createQueryBuilder(DeviceRequest, 'request')
        .select(['state', `${select} AS "isTooSoon"`])
        .where(code)
        .andWhere(WAITS)
        .setLock('for_no_key_update')
        .getRawOne<{ state: 'open' | 'approved'; isTooSoon: boolean }>();
      if (!found) return undefined;
      const counted = found.isTooSoon
        ? { pollInterval: 2 * INTERVAL }
        : { pollInterval: INTERVAL, polledAt: () => 'now()' };
      await manager.update(DeviceRequest, code, counted);
      return found;
    });
    if (before) return before.isTooSoon && before.state === 'open' ? 'too_soon' : before.state;
    const denied = { ...code, state: 'denied' as const, codesExpireAt: isFuture() };
    return (await this.dataSource.manager.existsBy(DeviceRequest, denied)) ? 'denied' : 'expired';
  }

  /** Looks at a request without counting a poll. */
  async look(deviceCodeHash: Buffer): Promise<Polled> {
    const where = { deviceCodeHash, codesExpireAt: isFuture() };
    const found = await this.dataSource.manager.findOne(DeviceRequest, { select: { state: true }, where });
    return found === null || found.state === 'used' ? 'expired' : found.state;
  }

  /** Finds out on which requests a person has decided. */
  async findDecided(deviceCodeHashes: readonly Buffer[]): Promise<Buffer[]> {
    const where = { deviceCodeHash: In([...deviceCodeHashes]), state: In(['approved', 'denied']) };
    const found = await this.dataSource.manager.find(DeviceRequest, {
      select: { deviceCodeHash: true },
      where,
    });
    return found.map(({ deviceCodeHash }) => deviceCodeHash);
  }

  /** Spends an approved request: of concurrent calls, one gets it. */
  async spend(deviceCodeHash: Buffer): Promise<DeviceRequest | undefined> {
    const approved = { deviceCodeHash, state: 'approved' as const, codesExpireAt: isFuture() };
    const { affected } = await this.dataSource.manager.update(DeviceRequest, approved, { state: 'used' });
    if (affected !== 1) return undefined;
    const spent = await this.dataSource.manager.findOneByOrFail(DeviceRequest, { deviceCodeHash });
    await this.dataSource.manager.update(DeviceRequest, { deviceCodeHash }, { identity: null });
    return spent;
  }

  /** Makes a spent request an approved one again. @param spent as `spend` returned it */
  async reopen(manager: EntityManager, { id, identity }: DeviceRequest): Promise<void> {
    await manager.update(DeviceRequest, { id, state: 'used' }, { state: 'approved', identity });
  }

  /** Decides on an open request. @returns false if it is not open any more, or names another user */
  decide(id: string, { userId, origin, approval }: Decision): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      const state = approval ? ('approved' as const) : ('denied' as const);
      const changed = await manager
        .createQueryBuilder()
        .update(DeviceRequest)
        .set({ state, userId, ...approval, ...(approval?.approvedBy && { requestedAt: () => 'now()' }) })
        .where({ id, state: 'open', codesExpireAt: isFuture() })
        .andWhere('(hinted_user_id IS NULL OR hinted_user_id = :userId)', { userId })
        .execute();
      if (changed.affected !== 1) return false;
      const request = await manager.findOneByOrFail(DeviceRequest, { id });
      const event = approval ? ('device_approved' as const) : ('device_denied' as const);
      const { deviceId } = request;
      const sessionId = approval?.approvedBy ?? null;
      await this.audit.write(manager, [
        { event, userId, deviceId, sessionId, provider: approval?.provider, origin },
      ]);
      return true;
    });
  }

  /** Takes approvals of the user back that are still to be spent. */
  async removed(manager: EntityManager, userId: string): Promise<void> {
    const approved = { userId, state: 'approved' as const };
    await manager.update(DeviceRequest, approved, { state: 'denied', identity: null });
  }
}
