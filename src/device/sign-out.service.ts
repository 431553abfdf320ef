import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { AuditFacts, Origin } from '../audit/audit-event.js';
import { AuditStore } from '../audit/audit.store.js';
import { ChannelHistory, type ChannelTransaction } from '../channel/channel.history.js';
import { chunks } from '../platform/database/batching.js';
import { Sql } from '../platform/database/sql.js';
import type { EndCause, RevokeReason, SessionIds } from '../platform/events.js';
import { RecentEnds } from '../token/sessions/recent-ends.js';
import {
  SessionStore,
  type Ended,
  type NamesAtProvider,
  type ScopeOf,
  type SessionScope,
} from '../token/sessions/session.store.js';
import { UserLifecycles } from '../user/user-lifecycle.js';
import { UserStore } from '../user/user.store.js';
import type { DeviceRow } from './device.store.js';
import {
  endEachSession,
  endExcess,
  endSessions,
  endSessionsAtProvider,
  haveOpenSessions,
  type Target,
} from './end-sessions.js';
import {
  FIND_EACH_SIGNED_OUT_DEVICE,
  FIND_SIGNED_OUT_DEVICES,
  LOCK_SIGNED_OUT_USER,
  LOCK_USER,
  LOCK_USERS,
  SLICE,
} from './sign-out.sql.js';

/** What the audit events of one sign-out have in common. */
interface Circumstances {
  readonly userId: string;
  readonly origin: Origin;
  /** As the client reports it. */
  readonly reason?: RevokeReason | undefined;
  /** Absent: a person signs out. */
  readonly cause?: EndCause | undefined;
  /** All sessions end: also sign-ins that began before this time (null: now). Absent: some sessions end. */
  readonly begunUntil?: Date | null | undefined;
}

interface SignOutOptions extends Pick<Circumstances, 'reason' | 'cause'> {
  /**
   * Runs in the transaction of the last slice. `provider`: of the user; undefined if the user was removed.
   * `count`: sessions of the slice.
   */
  readonly last?: (
    transaction: ChannelTransaction,
    provider: string | undefined,
    count: number,
  ) => Promise<unknown>;
}

interface Run {
  readonly done: Promise<unknown>;
  next?: Promise<number>;
}

/** Reasons of a client that has lost its session, and did not sign out. */
const LOSSES: ReadonlySet<RevokeReason | undefined> = new Set(['key_lost', 'storage_lost']);

/** Scopes that also end what is about to become a session (docs/development.md#ends-of-sessions). */
const OF_ALL: ReadonlySet<SessionScope> = new Set(['others', 'all']);

/** Ends sessions, and announces signed-out devices on the user's channel. */
@Injectable()
export class SignOutService {
  private readonly hasOpenSession: (target: Target) => Promise<boolean>;
  private readonly runs = new Map<string, Run>();

  constructor(
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
    private readonly sql: Sql,
    private readonly ends: RecentEnds,
    private readonly lifecycles: UserLifecycles,
    private readonly users: UserStore,
    private readonly sessions: SessionStore,
  ) {
    this.hasOpenSession = sql.batched('sign-out-look', (targets: Target[]) => haveOpenSessions(sql, targets));
  }

  /**
   * Signs sessions out, and appends `device.signed_out` for each device without a living session. It has no
   * rate limit (docs/security.md#requests): equal calls at one time are one. If no session of a device is
   * left, a batched read finds that out without a lock.
   * @returns number of sessions that this call has ended
   */
  async signOut(
    scope: SessionScope,
    ids: ScopeOf,
    origin: Origin,
    { reason, cause, last }: SignOutOptions = {},
  ): Promise<number> {
    const target = { ...ids, scope };
    const begunUntil = OF_ALL.has(scope) ? null : undefined;
    const circumstances = { userId: ids.userId, origin, reason, cause, begunUntil };
    if (last) return this.endAll(target, circumstances, last);
    if (OF_ALL.has(scope) || (await this.hasOpenSession(target)))
      return this.endAllOnce(target, circumstances);
    await this.sql.confirmRead(); // an earlier request may have ended them
    return 0;
  }

  /**
   * Ends a slice of the sessions of some users, that have these names at their provider.
   * @param userIds in order, so that users are locked in one order, against deadlocks
   * @param until latest begin of a session; null: any
   * @returns `count`: of the sessions that have ended
   */
  async endSliceOf(
    userIds: readonly string[],
    names: NamesAtProvider,
    within: ChannelTransaction,
    origin: Origin,
    { cause, until }: { readonly cause: EndCause; readonly until: Date | null },
  ): Promise<{ readonly isLast: boolean; readonly count: number }> {
    let sessions = 0;
    const begunUntil = names.session === null ? until : undefined;
    for (const userId of userIds) {
      const { count } = await this.endSlice(within, { userId, origin, cause, begunUntil }, () =>
        endSessionsAtProvider(within.manager, userId, names, cause, until),
      );
      sessions += count;
      if (sessions >= SLICE) return { isLast: false, count: sessions };
    }
    return { isLast: true, count: sessions };
  }

  /**
   * Ends sessions of many users, a slice in each transaction, so that it may be repeated after a failure.
   * @returns number of sessions that this call has ended
   */
  async endEach(sessions: readonly SessionIds[], origin: Origin, cause?: EndCause): Promise<number> {
    let ended = 0;
    // A distributed database runs a statement for several users in many steps.
    if (this.sql.distributed) {
      for (const session of sessions) ended += await this.signOut('session', session, origin, { cause });
      return ended;
    }
    for (const slice of chunks(sessions, SLICE)) {
      ended += await this.history.transaction((within) => this.endEachIn(within, slice, origin, cause));
    }
    return ended;
  }

  /**
   * Ends the sessions of a user beyond a limit, never the given one. The user is locked before the sessions
   * are counted, so that concurrent calls do not end too many.
   */
  async endExcess(session: SessionIds, most: number, origin: Origin): Promise<void> {
    const { userId } = session;
    const cause = 'too_many';
    for (let count = SLICE; count === SLICE;) {
      count = await this.history.transactionOf(userId, async (transaction) => {
        const end = () => endExcess(transaction.manager, session, most, cause);
        return (await this.endSlice(transaction, { userId, origin, cause }, end)).count;
      });
    }
  }

  /**
   * Ends the sessions of a user who is being removed, and whom the caller has locked: no channel is left for
   * an announcement.
   */
  async endForRemoval(
    manager: EntityManager,
    userId: string,
    provider: string,
    origin: Origin,
    cause: EndCause = 'removed',
  ): Promise<void> {
    const target = { scope: 'all', userId, sessionId: null, deviceId: null } as const;
    for (let count = SLICE; count === SLICE;) {
      const ended = await endSessions(manager, target, cause);
      await this.audit.write(manager, toAuditFacts({ userId, origin, cause }, provider, ended));
      count = ended.length;
    }
    await this.ends.rememberUser(manager, userId);
    await this.lifecycles.sessionsEnded(manager, userId, { deviceIds: [], isByPerson: false });
  }

  /**
   * Ends the sessions of a target in one run at a time. Equal calls during a run share the next one, since
   * the run may have read before they arrived.
   * @returns number of ended sessions for the call that began the run; 0 for those that share it
   */
  private async endAllOnce(target: Target, circumstances: Circumstances): Promise<number> {
    const { scope, userId, sessionId, deviceId } = target;
    const key = [scope, userId, sessionId, deviceId, circumstances.cause].join();
    const begin = (): Promise<number> => {
      const ended = this.endAll(target, circumstances);
      const run: Run = { done: ended.catch(() => undefined) };
      this.runs.set(key, run);
      void run.done.finally(() => {
        if (!run.next) this.runs.delete(key);
      });
      return ended;
    };
    const run = this.runs.get(key);
    if (!run) return begin();
    if (!run.next) return (run.next = run.done.then(begin));
    await run.next;
    return 0;
  }

  /**
   * One transaction ends one slice (docs/security.md#database), so a sign-out that failed between two slices
   * can be repeated.
   */
  private async endAll(
    target: Target,
    circumstances: Circumstances,
    last?: SignOutOptions['last'],
  ): Promise<number> {
    const isOfAll = circumstances.begunUntil !== undefined;
    let [sessions, count, isRemembered] = [0, SLICE, false];
    while (count === SLICE) {
      const slice = await this.history.transactionOf(target.userId, async (transaction) => {
        const ended = await this.endSlice(transaction, circumstances, () =>
          endSessions(transaction.manager, target, circumstances.cause ?? null),
        );
        if (ended.count < SLICE) await last?.(transaction, ended.provider, ended.count);
        return ended;
      });
      count = slice.count;
      sessions += count;
      if (slice.provider !== undefined || !isOfAll || isRemembered) continue;
      // A first sign-in may have been committed before it could see this end: look once more.
      [isRemembered, count] = [true, SLICE];
      sessions += await this.endJoined(circumstances);
    }
    if (count === 0) await this.sql.confirmRead(); // an earlier request may have ended them
    return sessions;
  }

  /**
   * Ends the sessions by an identity that a user has joined to their own: of the identity, there is no user.
   */
  private async endJoined({ userId, origin, cause }: Circumstances): Promise<number> {
    const owner = await this.users.mergedInto(userId);
    if (owner === undefined) return 0;
    return this.endEach(await this.sessions.findJoined(owner, userId), origin, cause);
  }

  /** Ends sessions, announces signed-out devices, and writes the audit events. */
  private async endSlice(
    { manager, append }: ChannelTransaction,
    circumstances: Circumstances,
    end: () => Promise<Ended[]>,
  ): Promise<{ readonly count: number; readonly provider: string | undefined }> {
    const { userId } = circumstances;
    const provider = await this.lock(manager, circumstances);
    const ended = await end();
    const deviceIds = devicesOf(ended);
    if (deviceIds.length > 0) {
      const values = [userId, deviceIds];
      const signedOut = await manager.query<DeviceRow[]>(FIND_SIGNED_OUT_DEVICES.text, values);
      const facts = signedOut.map((device) => [userId, toDeviceFacts(device)] as const);
      await append('device.signed_out', facts);
    }
    if (ended.length > 0) {
      const how = { deviceIds, isByPerson: isByPerson(circumstances) };
      await this.lifecycles.sessionsEnded(manager, userId, how);
    }
    await this.audit.write(manager, toAuditFacts(circumstances, provider, ended));
    return { count: ended.length, provider };
  }

  /** Ends sessions of several users in a transaction, SLICE at most. @returns number of ended sessions */
  async endEachIn(
    { manager, append }: ChannelTransaction,
    sessions: readonly SessionIds[],
    origin: Origin,
    cause: EndCause | undefined,
  ): Promise<number> {
    const users = [sessions.map(({ userId }) => userId)];
    const locked = await manager.query<{ userId: string; provider: string }[]>(LOCK_USERS.text, users);
    const providers = new Map(locked.map(({ userId, provider }) => [userId, provider]));
    const ended = await endEachSession(manager, sessions, cause ?? null);
    const onDevices = ended.filter(({ deviceId }) => deviceId !== null);
    const signedOut = await manager.query<(DeviceRow & { user_id: string })[]>(
      FIND_EACH_SIGNED_OUT_DEVICE.text,
      [onDevices.map(({ userId }) => userId), onDevices.map(({ deviceId }) => deviceId)],
    );
    const facts = signedOut.map((device) => [device.user_id, toDeviceFacts(device)] as const);
    await append('device.signed_out', facts);
    for (const userId of new Set(ended.map((one) => one.userId))) {
      const deviceIds = devicesOf(ended.filter((one) => one.userId === userId));
      const end = { deviceIds, isByPerson: isByPerson({ origin, cause }) };
      await this.lifecycles.sessionsEnded(manager, userId, end);
    }
    const events = ended.flatMap(({ userId, sessionId, deviceId }) =>
      toAuditFacts({ userId, origin, cause }, providers.get(userId), [{ sessionId, deviceId }]),
    );
    await this.audit.write(manager, events);
    return ended.length;
  }

  /** Locks the user. @returns the user's provider; undefined without a row */
  private async lock(
    manager: EntityManager,
    { userId, begunUntil }: Circumstances,
  ): Promise<string | undefined> {
    if (begunUntil === undefined) {
      const [user] = await manager.query<{ provider: string }[]>(LOCK_USER.text, [userId]);
      return user?.provider;
    }
    const [[user]] = await manager.query<[{ provider: string }[], number]>(LOCK_SIGNED_OUT_USER.text, [
      userId,
      begunUntil,
    ]);
    if (!user) await this.ends.rememberUser(manager, userId);
    return user?.provider;
  }
}

/**
 * Returns a device as `device.*` events carry it (docs/realtime.md#what-the-service-sends). Times: RFC 3339,
 * UTC, milliseconds.
 */
export function toDeviceFacts(device: Omit<DeviceRow, 'address'>): object {
  return {
    device_id: device.device_id,
    device_name: device.device_name,
    user_agent: device.user_agent,
    created_at: device.created_at.toISOString(),
    last_seen_at: device.last_seen_at.toISOString(),
  };
}

/** @param provider of the user; undefined if the user was removed */
function toAuditFacts(
  { userId, origin, reason, cause }: Circumstances,
  provider: string | undefined,
  ended: readonly Ended[],
): AuditFacts[] {
  const event = LOSSES.has(reason) ? 'session_lost' : 'sign_out';
  const facts = { event, userId, origin, provider } as const;
  return ended.map((session) => ({
    ...facts,
    ...session,
    reason: reason ?? cause ?? byOther(origin, { userId, ...session }),
  }));
}

function devicesOf(ended: readonly Ended[]): string[] {
  return [...new Set(ended.flatMap(({ deviceId }) => deviceId ?? []))];
}

/** See SessionsEnd: who ends a session by its token has no session as the caller. */
function isByPerson({ origin: { actor, session }, cause }: Pick<Circumstances, 'origin' | 'cause'>): boolean {
  return cause === undefined && (actor.type !== 'user' || session !== undefined);
}

/** Names the device of a user who has ended a session of another device, or the session if it has none. */
export function byOther(
  { session: caller }: Origin,
  { userId, sessionId, deviceId }: Omit<SessionIds, 'sessionId'> & { readonly sessionId?: string },
): string | undefined {
  if (caller?.userId !== userId || caller.sessionId === sessionId) return undefined;
  if (caller.deviceId === null) return `by session ${caller.sessionId}`;
  return caller.deviceId === deviceId ? undefined : `by device ${caller.deviceId}`;
}
