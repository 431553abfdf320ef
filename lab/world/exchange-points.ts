import { randomUUID } from 'node:crypto';
import { query } from '../../test/support/database.js';
import { beginSignIn } from '../../test/support/sign-in.js';
import type { StubProvider } from '../../test/support/stub-provider.js';
import { until } from '../../test/support/waiting.js';
import type { Instance } from './instance.js';
import type { Attempt, KillPoint, Scene } from './kill-point.js';
import { answer, answerOfStatement, halfOfRequest, statement, type Stop } from './stops.js';
import { hashState } from '../../src/auth/states/state.service.js';

interface Allowed {
  /** The client has the whole answer. */
  readonly acknowledged?: true;
  /** How often the provider had been asked for the code. */
  readonly asked: 0 | 1;
  /** Nothing, or a whole session with its user, device, access token and event. Never a part of it. */
  readonly stored: 'nothing' | 'whole';
  readonly retry: 200 | 401;
}

/** Texts of a request, of the sign-in's statement and of the provider's request (`code`); of the statement that spends the state. */
type Marks = Readonly<{ code: string; stateHash: Buffer }>;

/** Before the provider is asked, with a state that is good still, or spent; after that, with nothing stored, or all. */
const UNSENT: Allowed = { asked: 0, stored: 'nothing', retry: 200 };
const SPENT: Allowed = { asked: 0, stored: 'nothing', retry: 401 };
const LOST: Allowed = { asked: 1, stored: 'nothing', retry: 401 };
const WHOLE: Allowed = { asked: 1, stored: 'whole', retry: 401 };
const ACKNOWLEDGED: Allowed = { ...WHOLE, acknowledged: true };

const STOPS: readonly [name: string, stop: (scene: Scene, marks: Marks) => Stop, allowed: Allowed][] = [
  ['half of the request has arrived', ({ victim }, { code }) => halfOfRequest(victim, code), UNSENT],
  [
    'the statement that spends the state is held before PostgreSQL, and lost',
    ({ victim }, { stateHash }) => statement(victim, stateHash, false),
    UNSENT,
  ],
  [
    'the statement that spends the state arrives after the kill',
    ({ victim }, { stateHash }) => statement(victim, stateHash, true),
    SPENT,
  ],
  [
    "the state is spent, and PostgreSQL's answer is held",
    ({ victim }, { stateHash }) => answerOfStatement(victim, stateHash),
    SPENT,
  ],
  ['the provider has the request', ({ world }, { code }) => providerAnswers(world.provider, code, 0), LOST],
  [
    'the provider has sent half of its answer',
    ({ world }, { code }) => providerAnswers(world.provider, code, 0.5),
    LOST,
  ],
  [
    "the provider's answer is there, and the sign-in's statement is held before PostgreSQL, and lost",
    ({ victim }, { code }) => statement(victim, code, false),
    LOST,
  ],
  [
    "the sign-in's statement arrives after the kill",
    ({ victim }, { code }) => statement(victim, code, true),
    WHOLE,
  ],
  [
    "the sign-in is committed, and PostgreSQL's answer is held",
    ({ victim }, { code }) => answerOfStatement(victim, code),
    WHOLE,
  ],
  [
    'the service has answered, and nothing of that has reached the client',
    ({ victim }, { code }) => answer(victim, code),
    WHOLE,
  ],
  ['half of the answer has reached the client', ({ victim }, { code }) => answer(victim, code, 0.5), WHOLE],
  [
    'the whole answer has reached the client',
    () => ({ reached: Promise.resolve(), settle: () => undefined }),
    ACKNOWLEDGED,
  ],
];

/** The moments inside `POST /oauth2/token`. */
export const EXCHANGE_POINTS: readonly KillPoint[] = STOPS.map(([name, stop, allowed]) => ({
  name: `exchange: ${name}`,
  begin: async (scene) => {
    const code = randomUUID();
    const state = await beginSignIn(scene.other.url);
    const marks = { code, stateHash: hashState(state) };
    return exchange(scene, { code, state, device_id: randomUUID() }, stop(scene, marks), allowed);
  },
}));

/** The provider sends so large a part of its answer to a code, and no more; until its `reset`. */
function providerAnswers(provider: StubProvider, code: string, part: number): Stop {
  const before = provider.answer;
  const reached = new Promise<void>((resolve) => {
    provider.answer = (request, response, raw) => {
      if (!request.body.includes(code)) return before(request, response, raw);
      const text = JSON.stringify({ provider_user_id: code });
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': text.length });
      if (part > 0) response.write(text.slice(0, text.length * part), () => resolve());
      else resolve();
    };
  });
  return { reached, settle: () => undefined };
}

function exchange(
  { world, victim, other }: Scene,
  body: { code: string; state: string; device_id: string },
  stop: Stop,
  allowed: Allowed,
): Attempt {
  const { code, state } = body;
  let isOver = false;
  const call = post(`${victim.url}/oauth2/token`, body).finally(() => (isOver = true));
  const stored = () => storedOf(world.databaseUrl(), code);
  const asked = (): number => world.provider.requests.filter((one) => one.body.includes(code)).length;
  const retry = async ({ url }: Instance): Promise<number | undefined> =>
    (await post(`${url}/oauth2/token`, body))?.status;
  return {
    reached: allowed.acknowledged ? call : stop.reached,
    isMissed: () => isOver !== (allowed.acknowledged ?? false),
    async settle() {
      stop.settle();
      if (allowed.stored === 'whole') await until(async () => (await stored()).sessions === 1);
      else if (allowed.retry === 401) await until(async () => !(await hasState(world.databaseUrl(), state)));
    },
    async check() {
      const sessions = allowed.stored === 'whole' ? 1 : 0;
      const answered = await call;
      expect(answered?.status).toBe(allowed.acknowledged && 200);
      expect([await stored(), asked()]).toEqual([{ sessions, wholes: sessions }, allowed.asked]);
      expect(await retry(other)).toBe(allowed.retry);
      expect(await retry(victim)).toBe(401); // it has been started again
      const ever = allowed.retry === 200 ? 1 : sessions;
      expect(await stored()).toEqual({ sessions: ever, wholes: ever });
      expect(asked()).toBeLessThanOrEqual(1);
      if (answered) await expectGood(answered.body, [victim, other]);
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** On a connection of its own. @returns undefined without a whole answer */
async function post(url: string, body: object): Promise<Answer | undefined> {
  const headers = { 'Content-Type': 'application/json', Connection: 'close' };
  try {
    const answered = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answered.status, body: (await answered.json()) as Answer['body'] };
  } catch {
    return undefined;
  }
}

/** What was acknowledged works everywhere. */
async function expectGood(
  { access_token, refresh_token }: Record<string, unknown>,
  instances: readonly Instance[],
): Promise<void> {
  for (const { url } of instances) {
    const refreshed = await post(`${url}/oauth2/refresh`, { refresh_token });
    expect(refreshed?.status).toBe(200);
    for (const token of [access_token, refreshed!.body['access_token']]) {
      const me = await fetch(`${url}/me`, { headers: { Authorization: `Bearer ${String(token)}` } });
      expect(me.status).toBe(200);
    }
  }
}

async function storedOf(databaseUrl: string, code: string): Promise<{ sessions: number; wholes: number }> {
  const [row] = await query<{ sessions: number; wholes: number }>(
    databaseUrl,
    `SELECT count(*)::int AS sessions, count(*) FILTER (WHERE
       EXISTS (SELECT FROM devices d WHERE d.user_id = r.user_id AND d.device_id = r.device_id)
       AND EXISTS (SELECT FROM access_tokens a WHERE a.user_id = r.user_id AND a.session_id = r.session_id)
       AND EXISTS (SELECT FROM channel_events e WHERE e.user_id = r.user_id AND e.event = 'device.signed_in'))::int AS wholes
     FROM refresh_tokens r JOIN users u ON u.user_id = r.user_id WHERE u.provider_user_id = $1`,
    [code],
  );
  return row!;
}

async function hasState(databaseUrl: string, state: string): Promise<boolean> {
  const found = `SELECT FROM authorization_states WHERE state_hash = $1`;
  return (await query(databaseUrl, found, [hashState(state)])).length > 0;
}
