import { randomUUID } from 'node:crypto';
import { query } from '../../test/support/database.js';
import { claimsOf, signIn } from '../../test/support/sign-in.js';
import { until } from '../../test/support/waiting.js';
import { post } from './call.js';
import type { Instance } from './instance.js';
import type { Attempt, KillPoint, Scene } from './kill-point.js';
import { answer, answerOfStatement, statement, type Stop } from './stops.js';

interface Marks {
  /** In the statement. */
  readonly user: string;
  /** In the request. */
  readonly token: string;
}

/** With how many access tokens it has stored. */
const STOPS: readonly [name: string, stop: (victim: Instance, marks: Marks) => Stop, stored: 0 | 1][] = [
  [
    'the statement is held before PostgreSQL, and lost',
    (victim, { user }) => statement(victim, user, false),
    0,
  ],
  [
    "it is committed, and PostgreSQL's answer is held",
    (victim, { user }) => answerOfStatement(victim, user),
    1,
  ],
  ['half of the answer has reached the client', (victim, { token }) => answer(victim, token, 0.5), 1],
];

export const REFRESH_POINTS: readonly KillPoint[] = STOPS.map(([name, stop, stored]) => ({
  name: `refresh: ${name}`,
  isBrief: name.includes('PostgreSQL'),
  async prepare(scene) {
    const signedIn = await signIn(scene.other.url, randomUUID(), { device_id: randomUUID() });
    const { user_id: user, refresh_token: token } = signedIn;
    return () => refresh(scene, stop(scene.victim, { user, token }), { user, token }, stored);
  },
}));

function refresh(
  { world, victim, other }: Scene,
  stop: Stop,
  { user, token }: Marks,
  stored: number,
): Attempt {
  const send = ({ url }: Instance) => post(`${url}/oauth2/refresh`, { refresh_token: token });
  const call = send(victim);
  const tokens = async (): Promise<number> => {
    const count = 'SELECT count(*)::int AS n FROM access_tokens WHERE user_id = $1';
    return (await query<{ n: number }>(world.databaseUrl(), count, [user]))[0]!.n;
  };
  return {
    reached: stop.reached,
    isMissed: () => call.isOver(),
    async settle() {
      stop.settle();
      await until(async () => (await tokens()) === 1 + stored); // the first is that of the sign-in
    },
    async judge() {
      expect(await call.answer).toBeUndefined();
      expect(await tokens()).toBe(1 + stored);
      for (const instance of [other, victim]) {
        const again = await send(instance).answer;
        expect(again?.status).toBe(200);
        expect(claimsOf(again!.body['access_token'] as string)['sub']).toBe(user);
      }
      expect(await tokens()).toBe(3 + stored);
    },
  };
}
