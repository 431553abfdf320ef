import { Injectable } from '@nestjs/common';
import { ChannelHistory, type ChannelTransaction } from '../channel/channel.history.js';
import { deviceFacts, type DeviceRow } from '../channel/device-facts.js';
import { Events, type Session } from '../events.js';

/** Which sessions of a user: with `device`, all of that device. */
export type SessionScope = 'session' | 'device' | 'others' | 'all';

// Before anything else, and in one order: who ends sessions of a device waits for whoever does, or signs in on it. Else two
// that end the last two sessions of a device would each see the other's alive, and none would tell of the device.
const LOCK_DEVICES = `
  SELECT FROM devices
  WHERE user_id = $1 AND ($2 IN ('others', 'all') OR device_id = $3)
  ORDER BY device_id FOR UPDATE`;

// Signing out ends by expiry (spec §2.2: a refresh token "ends only by expiry"), and marks the session as signed out.
const END = `
  UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now())
  WHERE user_id = $1 AND signed_out_at IS NULL AND CASE $2
    WHEN 'session' THEN session_id = $3
    WHEN 'device' THEN device_id = $4
    WHEN 'others' THEN CASE WHEN $4::uuid IS NULL THEN session_id <> $3 ELSE device_id IS DISTINCT FROM $4 END
    ELSE true END
  RETURNING device_id`;

// Contract §7: `device.signed_out` says that no session of the device lives any more. The mark is looked at as well as the
// expiry: `now()` is when this transaction began, and whoever ended another session meanwhile has a later one.
const SIGNED_OUT_DEVICES = `
  SELECT device_id, device_name, user_agent, created_at, last_seen_at FROM devices d
  WHERE user_id = $1 AND device_id = ANY($2) AND NOT EXISTS (
    SELECT FROM refresh_tokens r
    WHERE r.user_id = d.user_id AND r.device_id = d.device_id
      AND r.signed_out_at IS NULL AND r.expires_at > now())
  ORDER BY device_id`;

/** Ends sessions: that is how people sign out. */
@Injectable()
export class SessionStore {
  constructor(
    private readonly history: ChannelHistory,
    private readonly events: Events,
  ) {}

  /**
   * Signs sessions out. From then on their access tokens are refused, since verification reads the session; whoever holds
   * their sockets is told by EndedSessions, and the user's channel by `device.signed_out`, one for each device that has no
   * living session any more. Where there is nothing to end, nothing is written: so it needs no limit (contract §2).
   *
   * @param of the session, device and user that the scope is seen from
   * @param within the transaction that it shall be part of
   */
  async end(scope: SessionScope, of: Session, within?: ChannelTransaction): Promise<void> {
    const sessions = await (within
      ? this.endIn(within, scope, of)
      : this.history.transaction((t) => this.endIn(t, scope, of)));
    this.events.emit('sign_out.requested', { userId: of.userId, scope, sessions });
  }

  private async endIn(
    { manager, append }: ChannelTransaction,
    scope: SessionScope,
    of: Session,
  ): Promise<number> {
    const { userId, sessionId, deviceId } = of;
    await manager.query(LOCK_DEVICES, [userId, scope, deviceId]);
    const [ended] = await manager.query<[{ device_id: string | null }[], number]>(END, [
      userId,
      scope,
      sessionId,
      deviceId,
    ]);
    const devices = await manager.query<DeviceRow[]>(SIGNED_OUT_DEVICES, [
      userId,
      ended.map((row) => row.device_id),
    ]);
    for (const device of devices) await append(userId, 'device.signed_out', deviceFacts(device));
    return ended.length;
  }
}
