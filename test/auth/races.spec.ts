import { randomUUID } from 'node:crypto';
import request, { type Response } from 'supertest';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { answerTogether } from '../support/crowd.js';
import { query } from '../support/database.js';
import { SERVICE_KEY, type TestService } from '../support/service.js';
import { useInstances } from '../support/use.js';

const RACERS = 10;
const ROUNDS = 2;
const CROSSINGS = 2;
const PEOPLE = 6;

/** On two instances that share a database. */
describe('races', () => {
  const { provider, here, there } = useInstances({ SERVICE_KEYS: SERVICE_KEY });
  const instances: [TestService, TestService] = [here, there];
  beforeEach(() => provider.reset());

  const url = (i: number): string => instances[i % 2]!.url;

  function race<Result>(count: number, run: (url: string, i: number) => Promise<Result>): Promise<Result[]> {
    return Promise.all(Array.from({ length: count }, (_, i) => run(url(i), i)));
  }

  it(`${RACERS} exchanges of one code and state: one wins, the provider is asked once (spec §2.3, P1)`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      provider.reset();
      const state = await beginSignIn(url(round));
      const answers = await race(RACERS, (at) =>
        request(at)
          .post('/oauth2/token')
          .send({ code: `race-${round}`, state }),
      );
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([200, ...Array<number>(RACERS - 1).fill(401)]);
      expect(provider.requests).toHaveLength(1);
    }
  });

  it(`${RACERS} first sign-ins of one identity: one user, one device, ${RACERS} sessions`, async () => {
    const device_id = '11111111-2222-4333-8444-555555555555';
    const tokens = await race(RACERS, (at) => signIn(at, 'newcomer', { device_id }));
    expect(new Set(tokens.map(({ user_id }) => user_id)).size).toBe(1);
    const [counts] = await query(
      instances[0].databaseUrl,
      `SELECT (SELECT count(*)::int FROM users WHERE provider_user_id = 'newcomer') AS users,
        (SELECT count(*)::int FROM devices WHERE device_id = $1) AS devices,
        (SELECT count(*)::int FROM refresh_tokens WHERE device_id = $1) AS sessions`,
      [device_id],
    );
    expect(counts).toEqual({ users: 1, devices: 1, sessions: RACERS });
  });

  it('40 refreshes of one token in parallel all succeed, each with a token of its own (P3)', async () => {
    const { refresh_token } = await signIn(url(0));
    const answers = await race(40, (at) => request(at).post('/oauth2/refresh').send({ refresh_token }));
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(40).fill(200));
    const tokens = answers.map(({ body }) => (body as { access_token: string }).access_token);
    expect(new Set(tokens).size).toBe(40);
    const [stored] = await query(
      instances[0].databaseUrl,
      'SELECT count(*)::int AS n FROM access_tokens WHERE token = ANY($1)',
      [tokens],
    );
    expect(stored).toEqual({ n: 40 });
  });

  // Calls that lock rows of a user, while two instances sign in these users in opposite orders.
  it(`no deadlock, and no answer is a server error (${CROSSINGS} rounds)`, async () => {
    const { databaseUrl } = instances[0];
    // Each row takes 1 ms, so that statements overlap; Citus has no triggers.
    await query(
      databaseUrl,
      `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_sleep(0.001); RETURN NEW; END $$`,
    );
    for (const table of process.env['CITUS_URL'] === undefined ? ['users', 'devices', 'channels'] : []) {
      await query(
        databaseUrl,
        `CREATE TRIGGER slowly BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION slowly()`,
      );
    }
    const people = Array.from({ length: PEOPLE }, () => ({ user: randomUUID(), device_id: randomUUID() }));
    const statuses: number[] = [];
    // A slow machine may time out. PostgreSQL counts the deadlocks.
    const isBusy = ({ status, headers, text }: Response) =>
      status === 500 && (headers['retry-after'] !== undefined || text.includes('provider cannot be used'));
    const told = async (call: PromiseLike<Response>): Promise<void> => {
      const answer = await call;
      if (!isBusy(answer)) statuses.push(answer.status);
    };
    for (let round = 0; round < CROSSINGS; round++) {
      const tokens: Tokens[] = [];
      for (const { user, device_id } of people) tokens.push(await signIn(url(round), user, { device_id }));
      const states = await Promise.all([...people, ...people].map((_, i) => beginSignIn(url(i))));
      answerTogether(provider, 2 * PEOPLE);
      const signIns = [people, people.toReversed()].flatMap((all, instance) =>
        all.map(({ user, device_id }, i) =>
          request(url(instance))
            .post('/oauth2/token')
            .send({ code: user, state: states[instance * PEOPLE + i], device_id }),
        ),
      );
      const others = tokens.flatMap(({ access_token, user_id }, i) => {
        const me = bearer(url(i), access_token);
        const backend = bearer(url(i + 1), SERVICE_KEY);
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
      const refused = answers.filter(({ status }) => status !== 200);
      // the user was signed out everywhere, or removed, since
      const reason = 'the user was signed out during the sign-in';
      const refusal = { error: 'invalid_grant', error_description: reason };
      expect(refused.map(({ body }) => body as unknown)).toEqual(refused.map(() => refusal));
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
