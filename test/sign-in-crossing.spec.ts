import { randomUUID } from 'node:crypto';
import request, { type Response } from 'supertest';
import { answerTogether } from './support/crowd-of-sign-ins.js';
import { bearer } from './support/bearer.js';
import { query } from './support/query.js';
import { startTestService, type TestService } from './support/service.js';
import { beginSignIn, signIn, type Tokens } from './support/sign-in.js';
import { StubProvider } from './support/stub-provider.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const ROUNDS = 6;
const PEOPLE = 12;

/** Everything that locks rows of a user, on two instances, while others sign in as the same people in another order. */
describe('sign-ins that share statements, and whatever else locks the same rows', () => {
  let provider: StubProvider;
  let instances: TestService[];

  beforeAll(async () => {
    provider = await StubProvider.start();
    const env = { ...provider.env(), PUBLIC_URL: 'http://localhost:3000', SERVICE_KEYS: SERVICE_KEY };
    const first = await startTestService(env);
    instances = [first, await startTestService({ ...env, DATABASE_URL: first.databaseUrl })];
  });
  afterAll(async () => {
    for (const instance of instances?.toReversed() ?? []) await instance.close();
    await provider?.close();
  });

  it(`nobody waits in a circle, and no answer is a failure of ours (${ROUNDS} rounds)`, async () => {
    const { databaseUrl } = instances[0]!;
    // Each row takes a while, so that statements certainly meet.
    await query(
      databaseUrl,
      `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_sleep(0.001); RETURN NEW; END $$`,
    );
    for (const table of ['users', 'devices', 'channels']) {
      await query(
        databaseUrl,
        `CREATE TRIGGER slowly BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION slowly()`,
      );
    }
    const people = Array.from({ length: PEOPLE }, () => ({ user: randomUUID(), device_id: randomUUID() }));
    const at = (i: number): string => instances[i % 2]!.url;
    const statuses: number[] = [];
    // On a slow machine the time for a statement or for the provider may be over. PostgreSQL's count shows a circle.
    const isBusy = ({ status, headers, text }: Response) =>
      status === 500 && (headers['retry-after'] !== undefined || text.includes('provider cannot be used'));
    const told = async (call: PromiseLike<Response>): Promise<void> => {
      const answer = await call;
      if (!isBusy(answer)) statuses.push(answer.status);
    };
    for (let round = 0; round < ROUNDS; round++) {
      const tokens: Tokens[] = [];
      for (const { user, device_id } of people) tokens.push(await signIn(at(round), user, { device_id }));
      const states = await Promise.all([...people, ...people].map((_, i) => beginSignIn(at(i))));
      answerTogether(provider, 2 * PEOPLE);
      const signIns = [people, people.toReversed()].flatMap((all, instance) =>
        all.map(({ user, device_id }, i) =>
          request(at(instance))
            .post('/oauth2/token')
            .send({ code: user, state: states[instance * PEOPLE + i], device_id }),
        ),
      );
      const others = tokens.flatMap(({ access_token, user_id }, i) => {
        const me = bearer(at(i), access_token);
        const backend = bearer(at(i + 1), SERVICE_KEY);
        return [
          told(backend.post('/push', { user_id, event: 'news' })),
          told(me.patch(`/devices/${people[i]!.device_id}`, { device_name: `Round ${round}` })),
          i % 3 === 0
            ? told(me.post('/sign-out', { scope: 'all' }))
            : told(me.delete(`/devices/${people[i]!.device_id}`)),
          ...(i % 4 === 0 ? [told(backend.delete(`/users/${user_id}`))] : []),
        ];
      });
      const answers = (await Promise.all(signIns)).filter((answer) => !isBusy(answer));
      await Promise.all(others);
      provider.reset();
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    }
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    const [{ deadlocks }] = (await query(
      databaseUrl,
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    )) as [{ deadlocks: number }];
    expect(deadlocks).toBe(0);
    const holes = await query(
      databaseUrl,
      `SELECT user_id FROM channels c JOIN channel_events e USING (user_id) GROUP BY user_id, last_offset
       HAVING last_offset <> max(event_offset) OR max(event_offset) - min(event_offset) + 1 <> count(*)`,
    );
    expect(holes).toEqual([]);
  });
});
