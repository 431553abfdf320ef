import { randomUUID } from 'node:crypto';
import { query } from './database.js';

/**
 * Writes audit events into the trail, each in a transaction of its own.
 * @returns their ids, in their order
 */
export async function writeEvents(
  databaseUrl: string,
  count: number,
  event = 'sign_in',
  userId: string = randomUUID(),
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  // One statement reads the clock for each row.
  await query(
    databaseUrl,
    `INSERT INTO audit_events (user_id, id, event, result, actor_type)
     SELECT $1, id, $2, 'ok', 'user' FROM unnest($3::uuid[]) AS new (id)`,
    [userId, event, ids],
  );
  return ids;
}
