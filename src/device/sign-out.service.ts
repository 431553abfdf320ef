import { Injectable } from '@nestjs/common';
import { ChannelHistory, type ChannelTransaction } from '../channel/channel.history.js';
import { Events, type Session } from '../events.js';
import { hasLivingSession } from '../token/session.sql.js';
import { endSessions, type SessionScope } from '../token/session.store.js';
import { DEVICE_FACTS } from './device.sql.js';
import type { DeviceFacts } from './device-facts.js';

// Before anything else, and in one order: who ends sessions of a device waits for whoever does, or signs in on it. Else two
// that end the last two sessions of a device would each see the other's alive, and none would tell of the device.
const LOCK_DEVICES = `
  SELECT FROM devices
  WHERE user_id = $1 AND ($2 IN ('others', 'all') OR device_id = $3)
  ORDER BY device_id FOR UPDATE`;

// Contract §7: `device.signed_out` says that no session of the device lives any more. The statement spans
// rooms: whether one lives is said by their own room, in session.sql.ts.
const SIGNED_OUT_DEVICES = `
  SELECT ${DEVICE_FACTS} AS facts FROM devices d
  WHERE user_id = $1 AND device_id = ANY($2)
    AND NOT ${hasLivingSession('d.user_id', 'd.device_id')}
  ORDER BY device_id`;

/** How people sign out: their sessions end, and their channel is told of the devices. */
@Injectable()
export class SignOutService {
  constructor(
    private readonly history: ChannelHistory,
    private readonly events: Events,
  ) {}

  /**
   * Signs sessions out, and tells the user's channel by `device.signed_out`, one for each device that has no living session
   * any more. Where there is nothing to end, nothing is written: so it needs no limit (contract §2).
   *
   * @param of the session, device and user that the scope is seen from
   * @param within the transaction that it shall be part of
   */
  async signOut(scope: SessionScope, of: Session, within?: ChannelTransaction): Promise<void> {
    const sessions = await (within
      ? this.signOutIn(within, scope, of)
      : this.history.transaction((transaction) => this.signOutIn(transaction, scope, of)));
    this.events.emit('sign_out.requested', { userId: of.userId, scope, sessions });
  }

  /** @returns how many sessions were ended */
  private async signOutIn(
    { manager, append }: ChannelTransaction,
    scope: SessionScope,
    of: Session,
  ): Promise<number> {
    const { userId, deviceId } = of;
    await manager.query(LOCK_DEVICES, [userId, scope, deviceId]);
    const ended = await endSessions(manager, scope, of);
    const devices = await manager.query<{ facts: DeviceFacts }[]>(SIGNED_OUT_DEVICES, [userId, ended]);
    for (const { facts } of devices) await append(userId, 'device.signed_out', facts);
    return ended.length;
  }
}
