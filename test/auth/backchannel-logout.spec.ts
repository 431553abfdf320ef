import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import request from 'supertest';
import { SignInStore } from '../../src/auth/sign-in/sign-in.store.js';
import { DatabaseBusy } from '../../src/platform/database/limits.js';
import { SignOutService } from '../../src/device/sign-out.service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { manyAtOnce } from '../support/crowd.js';
import { Endings } from '../support/endings.js';
import { logoutMutants, makeLogoutToken } from '../support/forged-tokens.js';
import { OidcIssuer, Person, TamperingProxy } from '../support/oidc-issuer.js';
import { makeSigningKey } from '../support/signing-key.js';
import { dump, query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const REDIRECT_URI = 'https://app.example/cb?a=1';
const PATH = '/providers/corp/backchannel-logout';

const providerEnv = (name: string, url: string): Record<string, string> => ({
  [`PROVIDERS_${name}_ADAPTER`]: 'oidc',
  [`PROVIDERS_${name}_URL`]: url,
  [`PROVIDERS_${name}_CLIENT_ID`]: 'latchkey',
  [`PROVIDERS_${name}_CLIENT_SECRET`]: 'a client secret of the issuer',
});
const OTHERS = {
  PROVIDERS_PLAIN_URL: 'http://127.0.0.1:1', // of the adapter `contract`
  PROVIDERS_PLAIN_CLIENT_ID: 'latchkey',
  PROVIDERS_PLAIN_CLIENT_SECRET: 'a client secret of the issuer',
  PUBLIC_URL: 'http://localhost:3000',
  REDIRECT_URIS: REDIRECT_URI,
};

/**
 * Two instances on one database, and a real provider that sends its logouts to one of them
 * (docs/provider-sign-out.md#back-channel-logout).
 */
describe('logout by the provider', () => {
  const endings = new Endings();
  let instances: TestService[];
  let env: Record<string, string>;
  afterAll(() => endings.run());

  const proxy = use(() => TamperingProxy.start());
  const issuer = use(() => OidcIssuer.behind(proxy));
  beforeAll(() => {
    env = { ...providerEnv('CORP', proxy.url), ...OTHERS };
  });
  const here = use(() => startTestService(env));
  beforeAll(async () => {
    const start = () => startTestService({ ...env, DATABASE_URL: here.databaseUrl });
    instances = [here];
    instances.push(endings.after(await start(), (one) => one.close()));
  });

  /** How the provider speaks of sessions: with `sid` or without, to the first instance. */
  const speak = (bySession: boolean) =>
    issuer.restart({
      client: {
        backchannel_logout_uri: `${here.url}${PATH}`,
        backchannel_logout_session_required: bySession,
      },
    });
  beforeEach(() => {
    speak(true);
    proxy.reset();
  });

  async function signIn(person: Person, body: object = {}, on = here): Promise<Tokens> {
    const begun = await request(on.url).get('/oauth2/authorize').query({ provider: 'corp' }).expect(200);
    const callback = await person.authorize((begun.body as { redirect_url: string }).redirect_url);
    const posted = { ...Object.fromEntries(callback.searchParams), ...body };
    return (await request(on.url).post('/oauth2/token').send(posted).expect(200)).body as Tokens;
  }

  const isAlive = async ({ access_token }: Tokens, on = here): Promise<boolean> =>
    (await bearer(on.url, access_token).get('/me')).status === 200;
  const alive = (all: Tokens[]): Promise<boolean[]> => Promise.all(all.map((one) => isAlive(one)));

  const send = (token: string, on = here, path = PATH): request.Test =>
    request(on.url).post(path).type('form').send({ logout_token: token });

  /** Makes a logout token of the provider. */
  const tokenFor = (claims: object, header: object = {}): string =>
    makeLogoutToken(issuer.key, { iss: issuer.issuer, ...claims }, { ...header });

  function isOfUnknownKey(token: string): boolean {
    const { kid } = decodeProtectedHeader(token);
    return kid === undefined || (typeof kid === 'string' && kid !== issuer.key.jwk['kid']);
  }

  /** Which status a sign-in had that failed. */
  const statusIn = (error: Error): number => Number(/got (\d+)/.exec(error.message)?.[1]);

  /** Name of the last session at the provider, from its ID token. */
  function sidOf(): string {
    const { id_token } = proxy.tokens.at(-1) as { id_token: string };
    return claimsOf(id_token)['sid'] as string;
  }

  describe('a person signs out at the provider', () => {
    it('by sid: the sessions of that browser end, nobody else’s', async () => {
      const [ada, elsewhere, bob] = [new Person('ada'), new Person('ada'), new Person('bob')];
      const devices = [randomUUID(), randomUUID()].toSorted();
      const hers = [
        await signIn(ada, { device_id: devices[0] }),
        await signIn(ada, { device_id: devices[1] }),
      ];
      const others = [await signIn(elsewhere, { device_id: randomUUID() }), await signIn(bob)];
      await ada.logOut(`${issuer.issuer}/session/end`);
      expect(await alive([...hers, ...others])).toEqual([false, false, true, true]);
      const told = await query(
        here.databaseUrl,
        `SELECT data::json ->> 'device_id' AS device FROM channel_events
         WHERE user_id = $1 AND event = 'device.signed_out' ORDER BY 1`,
        [hers[0]!.user_id],
      );
      expect(told.map(({ device }) => device)).toEqual(devices);
      const lines = instances.flatMap(({ log }) => log.filter((line) => line.includes('"event":"sign_out"')));
      for (const line of lines.slice(-2)) {
        const actor = { type: 'provider', name: 'corp' };
        expect(JSON.parse(line)).toMatchObject({ context: 'Audit', user_id: hers[0]!.user_id, actor });
      }
      await elsewhere.logOut(`${issuer.issuer}/session/end`);
      expect(await alive(others)).toEqual([false, true]);
    });

    it('by sub: all of that person’s sessions end', async () => {
      speak(false);
      const [carol, elsewhere, bob] = [new Person('carol'), new Person('carol'), new Person('bob')];
      const sessions = [await signIn(carol), await signIn(elsewhere), await signIn(bob)];
      await carol.logOut(`${issuer.issuer}/session/end`);
      expect(await alive(sessions)).toEqual([false, false, true]);
    });
  });

  /** Runs work that must neither write anything nor end a session. */
  async function writesNothing(work: () => Promise<void>): Promise<void> {
    const before = await dump(here.databaseUrl);
    await work();
    expect(await dump(here.databaseUrl)).toBe(before);
  }

  it('obeys none of 500 forged tokens, and writes nothing (P6)', async () => {
    const tokens = await signIn(new Person('hedy'));
    const sid = sidOf();
    await writesNothing(async () => {
      const forged = [...logoutMutants(issuer.key, issuer.issuer, 'hedy', sid)];
      expect(forged.length).toBeGreaterThanOrEqual(500);
      const answers: Record<string, unknown> = {};
      await manyAtOnce(forged.length, 8, async (i) => {
        const [name, token] = forged[i]!;
        const body = new URLSearchParams({ logout_token: token });
        const answer = await fetch(here.url + PATH, { method: 'POST', body });
        const { error } = (await answer.json()) as { error: string };
        // A key that is not known may be new: within 30 s of a fetch that cannot be said
        // (docs/security.md#providers).
        if (answer.status === 503 && isOfUnknownKey(token)) return;
        if (answer.status !== 400 || error !== 'invalid_request') answers[name] = answer.status;
      });
      expect(answers).toEqual({});
    });
    expect(await isAlive(tokens)).toBe(true);
    await send(tokenFor({ sub: 'hedy', sid })).expect(200); // the one that all were made from
    expect(await isAlive(tokens)).toBe(false);
  });

  describe('what is not a logout token', () => {
    const FORM = 'application/x-www-form-urlencoded';

    const BODIES: [name: string, type: string, body: () => string][] = [
      ['nothing', FORM, () => ''],
      ['an empty one', FORM, () => 'logout_token='],
      ['two', FORM, () => `logout_token=${tokenFor({ sub: 'ivy' })}&logout_token=x`],
      ['too long a text', FORM, () => `logout_token=${tokenFor({ sub: 'ivy', x: 'x'.repeat(8000) })}`],
      ['JSON with a list', 'application/json', () => '{"logout_token":["x"]}'],
      ['the token itself', 'application/jwt', () => tokenFor({ sub: 'ivy' })],
    ];

    it('is refused, and nothing is written', async () => {
      await writesNothing(async () => {
        for (const [name, type, body] of BODIES) {
          const answer = await request(here.url).post(PATH).set('Content-Type', type).send(body());
          expect([name, answer.status, answer.body]).toEqual([
            name,
            400,
            { error: 'invalid_request', error_description: expect.any(String) },
          ]);
        }
      });
    });

    it.each<[string, (depth: number) => string]>([
      ['claims', (depth) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`],
      ['claims that do not end', (depth) => '['.repeat(2 * depth)],
    ])('deep %s', async (_name, make) => {
      const [head] = tokenFor({ sub: 'ivy' }).split('.');
      const text = `${head}.${Buffer.from(make(2500)).toString('base64url')}`;
      await send(`${text}.${'A'.repeat(86)}`).expect(400);
      await send(`${Buffer.from(make(2500)).toString('base64url')}.e30.AAAA`).expect(400);
    });

    it('is told so in fixed words, and none of it is in the log', async () => {
      const seen = here.log.length;
      const { text, headers } = await send(tokenFor({ sub: 'a secret name', nonce: 'another' })).expect(400);
      expect(text).toBe('{"error":"invalid_request","error_description":"the logout token is not valid"}');
      expect(headers['cache-control']).toBe('no-store');
      const log = instances.flatMap((one) => one.log.slice(one === here ? seen : 0)).join('');
      expect(log).toContain('it has a nonce');
      expect(log).not.toContain('a secret name');
    });
  });

  it('takes the token as JSON as well, and answers nothing', async () => {
    const { body, headers } = await request(here.url)
      .post(PATH)
      .send({ logout_token: tokenFor({ sub: 'nobody' }) });
    expect([body, headers['cache-control']]).toEqual([{}, 'no-store']);
  });

  it('other paths do not exist, and the path takes POST only', async () => {
    for (const name of ['mock', 'unknown', 'plain', 'CORP', 'corp/x', '..%2Fcorp', '%FF', '__proto__']) {
      const path = `/providers/${name}/backchannel-logout`;
      await send(tokenFor({ sub: 'ada' }), here, path).expect(404);
      await request(here.url).get(path).expect(404);
    }
    const { body } = await request(here.url).get(PATH).expect(405).expect('Allow', 'POST');
    expect(body).toMatchObject({ error: 'method_not_allowed' });
  });

  it('a token is obeyed once, however many instances get it at once', async () => {
    const tokens = await signIn(new Person('jane'));
    for (let round = 0; round < 2; round++) {
      const token = tokenFor({ sub: 'jane' });
      const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => send(token, instances[i % 2])));
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([200, ...Array<number>(5).fill(400)]);
      await writesNothing(async () => void (await send(token).expect(400)));
    }
    expect(await isAlive(tokens)).toBe(false);
  });

  it('a token that could not be obeyed can be sent again', async () => {
    const tokens = await signIn(new Person('kate'));
    const token = tokenFor({ sub: 'kate' });
    const signOuts = jest.spyOn(here.app.get(SignOutService), 'endSliceOf');
    signOuts.mockRejectedValueOnce(new DatabaseBusy('too slow'));
    await writesNothing(async () => {
      const { headers, body } = await send(token).expect(500);
      expect([headers['retry-after'], body]).toEqual([
        '1',
        expect.objectContaining({ error: 'server_error' }),
      ]);
    });
    await send(token).expect(200);
    expect(await isAlive(tokens)).toBe(false);
  });

  // backchannel-logout-rows.spec.ts has the other names.
  it('a sign-in that is under way has no session afterwards', async () => {
    const signIns = here.app.get(SignInStore);
    const record = signIns.record.bind(signIns);
    let reached!: () => void;
    const asked = new Promise<void>((resolve) => (reached = resolve));
    let goOn!: () => void;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    jest.spyOn(signIns, 'record').mockImplementationOnce(async (written) => {
      reached();
      await held;
      return record(written);
    });
    const status = signIn(new Person('olga')).then(() => 200, statusIn);
    await asked; // the provider has said who it is, and nothing is written yet
    await send(tokenFor({ sid: sidOf(), sub: 'olga' }), instances[1]).expect(200);
    goOn();
    expect(await status).toBe(401);
    const living = await query(
      here.databaseUrl,
      `SELECT FROM refresh_tokens r JOIN users u USING (user_id)
         WHERE provider_user_id = 'olga' AND signed_out_at IS NULL`,
    );
    expect(living).toEqual([]);
    expect(await isAlive(await signIn(new Person('olga')))).toBe(true); // the next one is another
  });

  it('2 rounds of logouts, sign-ins and sign-outs at once: each is answered', async () => {
    const device_id = randomUUID();
    for (let round = 0; round < 2; round++) {
      const one = new Person('mary');
      const session = await signIn(one, { device_id });
      const on = instances[round % 2]!;
      const [again, ...answers] = await Promise.all([
        signIn(one, { device_id: randomUUID() }, on).then(() => 200, statusIn),
        send(tokenFor({ sub: 'mary' }), instances[(round + 1) % 2]),
        send(tokenFor({ sid: sidOf(), sub: 'mary' }), on),
        bearer(on.url, session.access_token).post('/sign-out', { scope: 'all' }),
      ]);
      const statuses = answers.map(({ status }) => (status === 401 ? 204 : status)); // ended before it was asked
      expect(statuses).toEqual([200, 200, 204]);
      expect([200, 401]).toContain(again); // the provider may have ended it
      expect(await isAlive(session)).toBe(false);
    }
  });

  it('the provider’s keys are those of one provider: no other can end its sessions', async () => {
    const otherKey = makeSigningKey('first');
    const other = endings.after(await StubProvider.start(), (one) => one.close());
    const documents: Record<string, object> = {
      '/.well-known/openid-configuration': {
        issuer: other.url,
        jwks_uri: `${other.url}/jwks`,
        id_token_signing_alg_values_supported: ['ES256', 'HS256'],
      },
      '/jwks': { keys: [{ ...otherKey.jwk, d: undefined }] },
    };
    other.answer = ({ path }, response) =>
      response
        .writeHead(200, { 'Content-Type': 'application/json' })
        .end(JSON.stringify(documents[path] ?? {}));
    const both = { ...env, ...providerEnv('OTHER', other.url), DATABASE_URL: here.databaseUrl };
    const fresh = endings.after(await startTestService(both), (one) => one.close());
    const tokens = await signIn(new Person('nell'));
    const names = { sub: 'nell', sid: sidOf() };
    const elsewhere = '/providers/other/backchannel-logout';
    const theirs = makeLogoutToken(otherKey, { iss: other.url, ...names });
    await writesNothing(async () => {
      await send(theirs, fresh).expect(400);
      await send(makeLogoutToken(otherKey, { iss: issuer.issuer, ...names }), fresh).expect(400);
      await send(tokenFor(names), fresh, elsewhere).expect(400);
      await send(makeLogoutToken(issuer.key, { iss: other.url, ...names }), fresh, elsewhere).expect(400);
    });
    await send(theirs, fresh, elsewhere).expect(200); // valid, for an unknown user
    expect(await isAlive(tokens)).toBe(true);
  });
});
