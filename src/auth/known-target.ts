import { CONFIRM_READ } from '../database/confirm-read.js';
import type { Sql } from '../database/sql.js';
import { hasDevice } from '../device/device.sql.js';
import { selectUser } from '../user/user.sql.js';

// It spans rooms: each room offers the SQL for its own tables (`*.sql.ts`).
const TARGET = {
  name: 'user-or-device',
  text: selectUser('$1', `($2::uuid IS NULL OR ${hasDevice('$1', '$2')})`),
};

/** Whether there is this user, and the device where one is named. That there is none may be the end of a removal. */
export async function isKnown(sql: Sql, userId: string, deviceId: string | null): Promise<boolean> {
  const { length } = await sql.query(TARGET, [userId, deviceId]);
  if (length === 0) await sql.query(CONFIRM_READ, []);
  return length > 0;
}
