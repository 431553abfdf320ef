import type { EntityManager } from 'typeorm';
import { appendInSteps, type Appended } from '../channel/append-in-steps.js';
import { hasDevice } from '../device/device.sql.js';
import { selectUser } from '../user/user.sql.js';

const TARGET = `
  SELECT now() AS sent_at FROM (${selectUser('$1', `($2::uuid IS NULL OR ${hasDevice('$1', '$2')})`)}) AS target`;

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
  const [target] = await manager.query<{ sent_at: Date }[]>(TARGET, [event.userId, event.deviceId]);
  if (!target) return undefined;
  return event.ttl > 0 ? appendInSteps(manager, event, history) : { ...target, event_offset: null };
}
