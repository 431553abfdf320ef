import { randomUUID } from 'node:crypto';
import { Random } from '../../test/support/random.js';
import { claimsOf } from '../../test/support/sign-in.js';
import { options, report } from '../options.js';
import { Instances, SERVICE_KEY, type Answer } from './instances.js';
import { Specification } from './specification.js';

const { minutes, seed } = options;
const STEPS = 3000;
const WEIGHTS = {
  signIn: 6,
  begin: 2,
  exchange: 4,
  refresh: 6,
  use: 8,
  introspect: 4,
  signOut: 1,
  push: 4,
  turn: 12,
};
const DAY = 86_400_000;

/** Random calls on two instances, while the clock goes to just before, on and after each moment at which something ends. */
describe('what ends by time', () => {
  let instances: Instances;
  let model: Specification;
  const random = new Random(seed);
  const counts: Record<string, number> = {};
  const done: string[] = [];

  beforeAll(async () => {
    instances = await Instances.start();
    model = new Specification(instances.clock.now(), [await instances.firstKey()]);
  });
  afterAll(() => instances?.stop());

  it('ends at its moment on both instances, in any order of calls', async () => {
    const began = instances.clock.now();
    const end = performance.now() + (minutes ?? 0) * 60_000;
    for (let step = 0; step < STEPS || performance.now() < end; step++) {
      const name = random.weighted(WEIGHTS);
      counts[name] = (counts[name] ?? 0) + 1;
      done.push(`${name} at ${new Date(model.now).toISOString()}`);
      await STEPS_BY_NAME[name]().catch((error: unknown) => {
        throw new Error(`seed ${seed}, step ${step}: ${done.slice(-10).join(', ')}`, { cause: error });
      });
    }
    report('steps; seed', `${done.length}; ${seed}`);
    report('steps by kind', JSON.stringify(counts));
    report('days', Math.round((instances.clock.now() - began) / DAY));
  });

  const STEPS_BY_NAME: Record<keyof typeof WEIGHTS, () => Promise<void>> = {
    begin,
    async signIn() {
      await begin();
      await exchange(0);
    },
    exchange: () => exchange(random.below(5)),
    async refresh() {
      const session = random.oneOf(model.sessions.slice(-6));
      if (!session) return;
      const answer = await call('POST', '/oauth2/refresh', undefined, {
        refresh_token: session.refreshToken,
      });
      if (!model.lives(session)) return expectRefusal(answer, 'invalid_grant');
      expect(answer.status).toBe(200);
      expectToken(session, answer.body['access_token'] as string);
    },
    async use() {
      const token = random.oneOf(model.tokens.slice(-8));
      if (!token) return;
      const answer = await call('GET', '/me', token.text);
      if (!model.isGood(token)) return expectRefusal(answer, 'invalid_token');
      expect(answer).toMatchObject({ status: 200, body: { user_id: token.session.user } });
    },
    async introspect() {
      const token = random.oneOf(model.tokens.slice(-8));
      if (!token) return;
      const answer = await call('POST', '/oauth2/introspect', SERVICE_KEY, { token: token.text });
      expect(answer).toMatchObject({ status: 200, body: { active: model.isGood(token) } });
    },
    async signOut() {
      const token = model.tokens.findLast((one) => model.isGood(one));
      if (!token) return;
      const { status } = await call('POST', '/sign-out', token.text, { scope: 'current' });
      expect(status).toBe(204);
      token.session.signedOut = true; // it has no device
    },
    async push() {
      const user = model.sessions.at(-1)?.user;
      if (user === undefined) return;
      const key = `${user} ${random.below(2)}`;
      const body = { user_id: user, event: 'news', data: 1 };
      const answer = await instances.call(random.below(2), 'POST', '/push', SERVICE_KEY, body, key);
      expect(answer.status).toBe(202);
      const [before, id] = [model.pushes.get(key), answer.body['id'] as string];
      if (before && model.now < before.expires) expect(id).toBe(before.id);
      else expect(id).not.toBe(before?.id);
      if (id !== before?.id) model.pushed(key, id);
    },
    async turn() {
      const edge = (model.moments[random.below(6)] ?? model.now) + random.below(3) - 1;
      model.now = Math.max(model.now, edge);
      const isDue = model.isRotationDue;
      await instances.turnTo(model.now);
      const known = new Set(model.keys.map(({ kid }) => kid));
      const made = (await published(0)).filter(({ kid }) => !known.has(kid));
      expect(made).toHaveLength(isDue ? 1 : 0);
      for (const { kid } of made) model.made(kid);
      const needed = model.tokens.filter((token) => model.isGood(token)).map(({ kid }) => kid);
      for (const at of [0, 1]) {
        const kids = (await published(at)).map(({ kid }) => kid);
        expect(kids).toEqual(
          expect.arrayContaining([...needed, model.signing.kid, ...made.map(({ kid }) => kid)]),
        );
      }
    },
  };

  async function begin(): Promise<void> {
    const { body } = await call('GET', '/oauth2/authorize?provider=stub');
    model.began(body['state'] as string);
  }

  /** @param place 0: the newest state; else of the states that were not used, also of one that has expired, counted from the newest */
  async function exchange(place: number): Promise<void> {
    const unused = model.states.filter(({ used }) => !used);
    const state = place === 0 ? model.states.at(-1) : unused.at(-place);
    if (!state) return;
    const answer = await call('POST', '/oauth2/token', undefined, { state: state.state, code: randomUUID() });
    if (!model.isFresh(state)) return expectRefusal(answer, 'invalid_grant');
    state.used = true;
    expect(answer.status).toBe(200);
    const { refresh_token, user_id, access_token } = answer.body as Record<string, string>;
    expectToken(model.signedIn(refresh_token!, user_id!), access_token!);
  }

  function expectToken(session: (typeof model.sessions)[0], text: string): void {
    const { expires, kid } = model.issued(session, text);
    expect(claimsOf(text)).toMatchObject({ sub: session.user, exp: expires / 1000 });
    expect(JSON.parse(Buffer.from(text.split('.')[0]!, 'base64url').toString())).toMatchObject({ kid });
  }

  function call(method: string, path: string, bearer?: string, body?: object): Promise<Answer> {
    return instances.call(random.below(2), method, path, bearer, body);
  }

  async function published(at: number): Promise<{ kid: string }[]> {
    const { body } = await instances.call(at, 'GET', '/.well-known/jwks.json');
    return body['keys'] as { kid: string }[];
  }

  function expectRefusal({ status, body }: Answer, error: string): void {
    expect([status, body['error']]).toEqual([401, error]);
  }
});
