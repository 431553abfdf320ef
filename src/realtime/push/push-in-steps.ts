import type { EntityManager } from 'typeorm';
import { appendInSteps, type Appended } from '../../channel/append-in-steps.js';
import { hasDevice } from '../../device/device.sql.js';
import { holdUser, selectUser } from '../../user/user.sql.js';

const IS_TARGET = `($2::uuid IS NULL OR ${hasDevice('$1', '$2')})`;

const HELD = holdUser('$1', IS_TARGET);

const UNKEPT = `SELECT now() AS sent_at FROM (${selectUser('$1', IS_TARGET)}) AS target`;

/**
 * A push on Citus, in steps (see appendInSteps); it spans rooms: each room offers the SQL for its own tables (`*.sql.ts`).
 *
 * @param manager of the transaction to take part in
 * @param history `Settings.channelHistory`
 * @returns undefined when user or device do not exist
 */
export async function pushInSteps(
  manager: EntityManager,
  event: Appended,
  history: number,
): Promise<{ event_offset: string | null; sent_at: Date } | undefined> {
  const target = [event.userId, event.deviceId];
  if (event.ttl === 0) {
    const [unkept] = await manager.query<{ sent_at: Date }[]>(UNKEPT, target);
    return unkept && { ...unkept, event_offset: null };
  }
  const [user] = await manager.query<unknown[]>(HELD, target);
  return user === undefined ? undefined : appendInSteps(manager, event, history);
}
