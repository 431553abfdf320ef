import type { EntityManager } from 'typeorm';
import { hasLivingSession } from '../token/session.sql.js';
import { Device } from './device.entity.js';

/** A device, and whether it is signed in: whether it has a session that lives. */
export type KnownDevice = Device & { readonly signedIn: boolean };

// It spans rooms: session.sql.ts, of the room that owns sessions, says whether one lives. Each part names the user, so that on
// Citus it goes to the user's node.
const DEVICES = `
  SELECT user_id AS "userId", device_id AS "deviceId", device_name AS "deviceName", user_agent AS "userAgent",
    created_at AS "createdAt", last_seen_at AS "lastSeenAt", ${hasLivingSession('$1', 'd.device_id')} AS "signedIn"
  FROM devices d
  WHERE user_id = $1 AND ($2::uuid IS NULL OR device_id = $2)
  ORDER BY last_seen_at DESC, device_id`;

/** The user's devices, newest use first; with `deviceId` that one, if there is such a device. */
export function findDevices(
  manager: EntityManager,
  userId: string,
  deviceId: string | null = null,
): Promise<KnownDevice[]> {
  return manager.query<KnownDevice[]>(DEVICES, [userId, deviceId]);
}

// In the order in which sign-outs lock them (sign-out.service.ts).
const LOCK = 'SELECT FROM devices WHERE user_id = $1 ORDER BY device_id FOR UPDATE';

/** Removes all devices of a user. Renames and sign-outs that are under way are waited for. */
export async function removeDevices(manager: EntityManager, userId: string): Promise<void> {
  await manager.query(LOCK, [userId]);
  await manager.delete(Device, { userId });
}
