import { Injectable } from '@nestjs/common';
import type { AuditFacts, Origin } from '../audit/audit-event.js';
import { AuditStore } from '../audit/audit.store.js';
import { ChannelHistory, type ChannelTransaction } from '../channel/channel.history.js';
import { CONFIRM_READ, Sql } from '../database/sql.js';
import { SharedRuns } from './shared-runs.js';
import type { RevokeReason } from '../events.js';
import { selectLivingDevices } from '../token/sessions/session.sql.js';
import {
  endSessions,
  endSessionsAtProvider,
  haveOpenSessions,
  SLICE,
  usersAtProvider,
  type Ended,
  type NamesAtProvider,
  type ScopeOf,
  type SessionScope,
  type ToEnd,
} from '../token/sessions/session.store.js';
import { holdForAudit } from '../user/user.store.js';
import { DEVICE_FACTS } from './device.sql.js';

// `device.signed_out` says that the device has no living session. It uses tables of several modules.
const SIGNED_OUT_DEVICES = `
  SELECT ${DEVICE_FACTS} AS facts FROM devices
  WHERE user_id = $1 AND device_id = ANY($2) AND device_id NOT IN (${selectLivingDevices('$1')})
  ORDER BY device_id`;

interface SignOutOptions {
  /** As the client reports it. */
  readonly reason?: RevokeReason | undefined;
  /** Runs in the transaction of the last slice; `provider` as for `signOutEvents`. */
  readonly last?: (transaction: ChannelTransaction, provider: string | undefined) => Promise<unknown>;
}

/** Reasons of a client that has lost its session, and did not sign out. */
const LOSSES: ReadonlySet<RevokeReason | undefined> = new Set(['key_lost', 'storage_lost']);

/**
 * Returns the events of ended sessions.
 * @param common `provider` of the user; undefined if the user was removed
 */
export function signOutEvents(
  common: Pick<AuditFacts, 'provider' | 'origin'> & {
    readonly userId: string;
    readonly reason?: RevokeReason | undefined;
  },
  ended: readonly Ended[],
): AuditFacts[] {
  const event = LOSSES.has(common.reason) ? 'session_lost' : 'sign_out';
  return ended.map((session) => ({ event, ...common, ...session }));
}

/** Ends sessions, and announces signed-out devices on the user's channel. */
@Injectable()
export class SignOutService {
  private readonly hasOpen: (signOut: ToEnd) => Promise<boolean>;
  private readonly runs = new SharedRuns();

  constructor(
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
    private readonly sql: Sql,
  ) {
    this.hasOpen = sql.batched('sign-out-look', (signOuts: ToEnd[]) => haveOpenSessions(sql, signOuts));
  }

  /**
   * Signs sessions out, and appends `device.signed_out` for each device without a living session. It has no rate limit
   * (docs/security.md#requests). So if no session is left, a batched read finds that out, without a lock; and equal calls at one
   * time are one.
   * @param target the session, device and user that the scope refers to
   * @returns number of sessions that this call has ended
   */
  async signOut(
    scope: SessionScope,
    target: ScopeOf,
    origin: Origin,
    { reason, last }: SignOutOptions = {},
  ): Promise<number> {
    if (last) return this.endAll(scope, target, origin, { reason, last });
    if (!(await this.hasOpen({ scope, target }))) {
      await this.sql.confirmRead(); // an earlier request may have ended them
      return 0;
    }
    let sessions = 0;
    await this.runs.share([scope, target.userId, target.sessionId, target.deviceId].join(), async () => {
      sessions = await this.endAll(scope, target, origin, { reason });
    });
    return sessions;
  }

  /** One transaction ends one slice (docs/security.md#database), so a sign-out that failed between two slices can be repeated. */
  private async endAll(
    scope: SessionScope,
    target: ScopeOf,
    origin: Origin,
    { reason, last }: SignOutOptions,
  ): Promise<number> {
    const common = { userId: target.userId, origin, reason };
    for (let sessions = 0; ;) {
      const count = await this.history.transactionOf(target.userId, async (transaction) => {
        const { manager } = transaction;
        const slice = await this.endSlice(transaction, common, () => endSessions(manager, scope, target));
        if (slice.count === 0) await manager.query(CONFIRM_READ.text); // an earlier request may have ended them
        if (slice.count < SLICE) await last?.(transaction, slice.provider);
        return slice.count;
      });
      sessions += count;
      if (count < SLICE) return sessions;
    }
  }

  /**
   * Signs out a slice of the sessions with these names at the provider. Users are locked in one order, against deadlocks.
   * @throws TooManyUsers if one name belongs to too many users: the caller must roll back
   */
  async signOutAtProvider(
    names: NamesAtProvider,
    within: ChannelTransaction,
    origin: Origin,
  ): Promise<{ readonly isLast: boolean }> {
    const { userIds, known } = await usersAtProvider(within.manager, names);
    let sessions = 0;
    for (const userId of userIds) {
      const { count } = await this.endSlice(within, { userId, origin }, () =>
        endSessionsAtProvider(within.manager, userId, known),
      );
      sessions += count;
      if (sessions >= SLICE) return { isLast: false };
    }
    return { isLast: true };
  }

  /**
   * Ends sessions, announces signed-out devices, and writes the audit events. The user is locked first: else of two sign-outs that end
   * the last two sessions of a device, each would see the other's session alive, and neither would announce the device.
   */
  private async endSlice(
    { manager, append }: ChannelTransaction,
    common: { readonly userId: string; readonly origin: Origin; readonly reason?: RevokeReason | undefined },
    end: () => Promise<Ended[]>,
  ): Promise<{ readonly count: number; readonly provider: string | undefined }> {
    const { userId } = common;
    const provider = await holdForAudit(manager, userId);
    const ended = await end();
    const devices = [...new Set(ended.map(({ deviceId }) => deviceId))].filter((device) => device !== null);
    if (devices.length > 0) {
      const rows = await manager.query<{ facts: object }[]>(SIGNED_OUT_DEVICES, [userId, devices]);
      const signedOut = rows.map(({ facts }) => facts);
      await append(userId, 'device.signed_out', signedOut);
    }
    await this.audit.write(manager, signOutEvents({ ...common, provider }, ended));
    return { count: ended.length, provider };
  }
}
