import { randomUUID } from 'node:crypto';
import { query } from '../../test/support/database.js';
import { signIn } from '../../test/support/sign-in.js';
import { until } from '../../test/support/waiting.js';
import { post } from './call.js';
import type { Instance } from './instance.js';
import type { Attempt, KillPoint, Scene } from './kill-point.js';
import { answer, answerOfCommit, commit, type Stop } from './stops.js';

/** Users who were pushed to: their channels hold more than their sign-ins. */
export const pushedTo = new Set<string>();

const STOPS: readonly [name: string, stop: (victim: Instance, event: string) => Stop, stored: 0 | 1][] = [
  ['its COMMIT is held before PostgreSQL, and lost', (victim, event) => commit(victim, event, false), 0],
  ['… and arrives after the kill', (victim, event) => commit(victim, event, true), 1],
  ["it is committed, and PostgreSQL's answer is held", (victim, event) => answerOfCommit(victim, event), 1],
  ['half of the answer has reached the client', (victim, event) => answer(victim, event, 0.5), 1],
];

/**
 * The moments inside `POST /push` with an `Idempotency-Key`: the client that sends it again has pushed once
 * (docs/realtime.md#pushing).
 */
export const PUSH_POINTS: readonly KillPoint[] = STOPS.map(([name, stop, stored]) => ({
  name: `push: ${name}`,
  isBrief: name.includes('PostgreSQL') || name.startsWith('…'),
  async prepare(scene) {
    const { user_id } = await signIn(scene.other.url, randomUUID(), { device_id: randomUUID() });
    pushedTo.add(user_id);
    const event = `kill.${randomUUID()}`;
    return () => push(scene, stop(scene.victim, event), { user_id, event }, stored);
  },
}));

function push(
  { world, victim, other }: Scene,
  stop: Stop,
  body: { user_id: string; event: string },
  stored: number,
): Attempt {
  const { user_id, event } = body;
  const headers = { Authorization: `Bearer ${world.serviceKey}`, 'Idempotency-Key': event };
  const send = ({ url }: Instance) => post(`${url}/push`, body, headers);
  const call = send(victim);
  const events = async (): Promise<string[]> => {
    const found = `SELECT id FROM channel_events WHERE user_id = $1 AND event = $2`;
    return (await query<{ id: string }>(world.databaseUrl(), found, [user_id, event])).map(({ id }) => id);
  };
  return {
    reached: stop.reached,
    isMissed: () => call.isOver(),
    async settle() {
      stop.settle();
      await until(async () => (await events()).length === stored);
    },
    async judge() {
      expect(await call.answer).toBeUndefined();
      const before = await events();
      expect(before).toHaveLength(stored);
      const again = [await send(other).answer, await send(victim).answer];
      expect(again.map((one) => one?.status)).toEqual([202, 202]);
      const ids = again.map((one) => one!.body['id'] as string);
      expect(await events()).toEqual([ids[0]]);
      expect(new Set([...before, ...ids]).size).toBe(1);
    },
  };
}
