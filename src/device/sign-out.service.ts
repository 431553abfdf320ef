import { Injectable } from '@nestjs/common';
import { ChannelHistory, type ChannelTransaction } from '../channel/channel.history.js';
import { CONFIRM_READ } from '../database/confirm-read.js';
import { Sql } from '../database/sql.js';
import { Events, type DomainEvents } from '../events.js';
import { hasLivingSession } from '../token/session.sql.js';
import {
  endSessionsAtProvider,
  usersAtProvider,
  withItsSubjects,
  type NamesAtProvider,
} from '../token/provider-sessions.store.js';
import { endSessions, type ScopeOf, type SessionScope } from '../token/session.store.js';
import { DEVICE_FACTS } from './device.sql.js';
import type { DeviceFacts } from './device-facts.js';

// Runs first, and locks in one order: a sign-out of a device waits for other sign-outs of it and for sign-ins on it.
// Otherwise two that end the last two sessions of a device would each see the other's session alive, and neither would
// announce the device.
const LOCK_DEVICES = `
  SELECT FROM devices
  WHERE user_id = $1 AND ($2 IN ('others', 'all') OR device_id = $3)
  ORDER BY device_id FOR UPDATE`;

// Contract §7: `device.signed_out` says that no session of the device lives any more. The statement spans
// rooms: session.sql.ts, of the room that owns sessions, says whether one lives.
const SIGNED_OUT_DEVICES = `
  SELECT ${DEVICE_FACTS} AS facts FROM devices d
  WHERE user_id = $1 AND device_id = ANY($2)
    AND NOT ${hasLivingSession('d.user_id', 'd.device_id')}
  ORDER BY device_id`;

type Asker = DomainEvents['sign_out.requested'][0]['by'];

/** Signs people out: their sessions end, and their channel is told which devices are signed out. */
@Injectable()
export class SignOutService {
  constructor(
    private readonly history: ChannelHistory,
    private readonly sql: Sql,
    private readonly events: Events,
  ) {}

  /**
   * Signs sessions out, and appends `device.signed_out` to the user's channel for each device that has no living session any
   * more. Where there is nothing to end, nothing is written, so it needs no limit (contract §2).
   *
   * @param of the session, device and user that the scope refers to
   * @param within the transaction to take part in
   * @param by who asked for it; left out: the user
   */
  async signOut(scope: SessionScope, of: ScopeOf, within?: ChannelTransaction, by?: Asker): Promise<void> {
    const sessions = await (within
      ? this.signOutIn(within, scope, of)
      : this.history.transaction((transaction) => this.signOutIn(transaction, scope, of)));
    this.events.emit('sign_out.requested', { userId: of.userId, scope, sessions, ...(by && { by }) });
  }

  /**
   * Signs out the sessions that a provider calls by these names, of whomever they are: mostly of one user. Those of several are
   * taken in one order, so that no two such sign-outs wait for each other. It tells no one; the caller does.
   *
   * @param within the transaction to take part in
   * @throws TooManyUsers when there are more than one name may have: nothing may be ended then
   */
  async signOutAtProvider(
    names: NamesAtProvider,
    within: ChannelTransaction,
  ): Promise<{ readonly userIds: readonly string[]; readonly sessions: number }> {
    const { manager } = within;
    const known = await withItsSubjects(manager, names);
    const userIds = await usersAtProvider(manager, known);
    let sessions = 0;
    for (const userId of userIds) {
      await manager.query(LOCK_DEVICES, [userId, 'all', null]);
      const ended = await endSessionsAtProvider(manager, userId, known, this.sql.distributed);
      await this.announce(within, userId, ended);
      sessions += ended.length;
    }
    return { userIds, sessions };
  }

  /** @returns how many sessions were ended */
  private async signOutIn(within: ChannelTransaction, scope: SessionScope, of: ScopeOf): Promise<number> {
    const { manager } = within;
    const { userId, deviceId } = of;
    await manager.query(LOCK_DEVICES, [userId, scope, deviceId]);
    const ended = await endSessions(manager, scope, of, this.sql.distributed);
    if (ended.length === 0) await manager.query(CONFIRM_READ.text); // it may have been tried before
    await this.announce(within, userId, ended);
    return ended.length;
  }

  /** @param ended the devices of sessions that were ended */
  private async announce(
    { manager, append }: ChannelTransaction,
    userId: string,
    ended: readonly (string | null)[],
  ): Promise<void> {
    const devices = await manager.query<{ facts: DeviceFacts }[]>(SIGNED_OUT_DEVICES, [userId, ended]);
    for (const { facts } of devices) await append(userId, 'device.signed_out', facts);
  }
}
