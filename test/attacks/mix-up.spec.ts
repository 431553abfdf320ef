import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { CLIENT, ContractProvider } from '../../packages/check-provider/test/support/contract-provider.js';
import { startTestService, type TestService } from '../support/service.js';
import { authorization, beginSignIn } from '../support/sign-in.js';
import { speakOpenId } from '../support/openid-stub.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const SECRET = 'a client secret of the stub';
const HONEST = 'https://honest.example';
const UNKNOWN = 'unknown';

/** What a provider's adapter and settings know about its issuer. */
interface Known {
  readonly keys: Record<string, string>;
  /** The expected `iss`. `UNKNOWN`: there is none, so every `iss` is refused. */
  readonly issuer: string;
}

/**
 * Mix-up (RFC 9700 §4.4): the user begins at the attacker's provider, which sends them on to the honest one,
 * with the honest client id. The code that comes back is the honest provider's, but the state belongs to the
 * attacker's provider. If `iss` (RFC 9207) were not compared, the code would go to the attacker. For every
 * adapter (docs/several-providers.md#mix-up-and-injected-codes).
 */
describe('mix-up', () => {
  let directory: string;
  let nonces: Map<string, string>;
  let service: TestService;

  const endpoints = () => ({
    authorize_url: `${attacker.url}/authorize`,
    token_url: `${attacker.url}/token`,
    userinfo_url: `${attacker.url}/me`,
    claim_user_id: 'sub',
  });
  const own = (name: string, issuer: string): Record<string, string> => {
    const file = join(directory, `${name}.mjs`);
    writeFileSync(
      file,
      `export default {
        authorizationUrl: (provider, { state }) => new URL(provider.url + '/login?state=' + state),
        async exchange(provider, { code, iss, signal }) {
          if (iss === 'https://refused.example') throw Object.assign(new Error('no'), { error: 'invalid_grant' });
          await fetch(provider.url + '/exchange', { method: 'POST', signal, body: new URLSearchParams({ code }) });
          return { provider_user_id: 'ada' };
        },
        ${issuer}
      };`,
    );
    return { adapter: file, url: attacker.url };
  };

  /** Every adapter, with and without the setting. */
  const TABLE: Record<string, () => Known> = {
    contract: () => ({ keys: { url: attacker.url }, issuer: UNKNOWN }),
    'contract-set': () => ({ keys: { url: attacker.url, issuer: HONEST }, issuer: HONEST }),
    oauth2: () => ({ keys: { adapter: 'oauth2', ...endpoints() }, issuer: UNKNOWN }),
    'oauth2-set': () => ({ keys: { adapter: 'oauth2', ...endpoints(), issuer: HONEST }, issuer: HONEST }),
    'github-elsewhere': () => ({ keys: { adapter: 'github', ...endpoints() }, issuer: UNKNOWN }),
    'discord-set': () => ({ keys: { adapter: 'discord', ...endpoints(), issuer: HONEST }, issuer: HONEST }),
    oidc: () => ({ keys: { adapter: 'oidc', url: attacker.url }, issuer: attacker.url }),
    // Discovery must name the issuer of the setting.
    'oidc-set': () => ({
      keys: { adapter: 'oidc', url: attacker.url, issuer: attacker.url },
      issuer: attacker.url,
    }),
    google: () => ({ keys: { adapter: 'google', url: attacker.url }, issuer: attacker.url }),
    own: () => ({ keys: own('without', ''), issuer: UNKNOWN }),
    'own-set': () => ({ keys: { ...own('without', ''), issuer: HONEST }, issuer: HONEST }),
    'own-method': () => ({ keys: own('method', `issuer: () => '${HONEST}'`), issuer: HONEST }),
    'own-promise': () => ({ keys: own('promise', `issuer: async () => '${HONEST}'`), issuer: HONEST }),
    'own-undefined': () => ({ keys: own('undefined', 'issuer() {}'), issuer: UNKNOWN }),
    'own-undefined-set': () => ({
      keys: { ...own('undefined', 'issuer() {}'), issuer: HONEST },
      issuer: HONEST,
    }),
  };
  const names = Object.keys(TABLE);
  /** All texts near the right one are tried for each source of it; one comparison is for all adapters. */
  const COMPARED = new Set(['contract', 'contract-set', 'oidc', 'own-method']);

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-mix-up-'));
  });
  const attacker = use(() => StubProvider.start());
  beforeAll(async () => {
    nonces = speakOpenId(attacker);
    const providers = {
      ...Object.fromEntries(names.map((name) => [name, TABLE[name]!().keys])),
      judge: own('judge', `issuer: 'own'`),
      failing: own('failing', `issuer() { throw new Error('away'); }`),
    };
    service = await startTestService(providersEnv(providers));
  });
  afterAll(async () => {
    await service?.close();
    rmSync(directory, { recursive: true });
  });
  beforeEach(() => (attacker.requests.length = 0));

  async function begin(provider: string, code: string): Promise<string> {
    const { redirect_url, state } = await authorization(service.url, { provider });
    nonces.set(code, new URL(redirect_url).searchParams.get('nonce') ?? '');
    return state;
  }

  let serial = 0;
  /** Refuses a victim's callback, and checks everything that must be true then. */
  async function refused(provider: string, iss: string): Promise<void> {
    const code = `code-of-the-victim-${serial++}`;
    const state = await begin(provider, code);
    const { status, body, text } = await request(service.url)
      .post('/oauth2/token')
      .send({ code, state, iss });
    expect([status, body]).toMatchObject([401, { error: 'invalid_grant' }]);
    expect(text).not.toContain(iss);
    const again = await request(service.url).post('/oauth2/token').send({ code, state });
    expect([again.status, again.body]).toMatchObject([
      401,
      { error_description: expect.stringMatching(/^state/) },
    ]);
    expect(attacker.requests.filter(({ method }) => method === 'POST')).toEqual([]); // neither code nor secret
  }

  const variants = (issuer: string): string[] => [
    'https://evil.example',
    `${issuer}/`,
    issuer.slice(0, -1),
    issuer.toUpperCase(),
    `${issuer}.evil.example`,
    ` ${issuer}`,
    `${issuer}#`,
    issuer.replace('://', '://x@'),
    'null',
    'own',
  ];

  describe.each(names)('with %s', (name) => {
    const known = (): Known => TABLE[name]!();

    it('refuses every iss but the right one; the code is not sent on, and the state is used up', async () => {
      const { issuer } = known();
      const others = [HONEST, attacker.url].filter((other) => other !== issuer); // of another provider in the table (P2)
      const near = variants(issuer === UNKNOWN ? HONEST : issuer);
      for (const iss of [...(COMPARED.has(name) ? near : near.slice(0, 2)), ...others])
        await refused(name, iss);
    });

    it('takes the right one, if it is known', async () => {
      const { issuer } = known();
      if (issuer === UNKNOWN) return refused(name, HONEST);
      const state = await begin(name, 'good');
      await request(service.url).post('/oauth2/token').send({ code: 'good', state, iss: issuer }).expect(200);
    });

    it('serves a client that knows only the specification, and passes none on (spec §4.3)', async () => {
      for (const more of [{}, { iss: '' }, { iss: null }]) {
        const state = await begin(name, 'good');
        await request(service.url)
          .post('/oauth2/token')
          .send({ code: 'good', state, ...more })
          .expect(200);
      }
    });

    it('says in the log which setting to look at, once, and nothing secret', async () => {
      const seen = service.log.length;
      await refused(name, 'https://evil.example/?secret-of-the-url');
      const lines = service.log.slice(seen);
      const named = lines.filter((line) => new RegExp(`providers\\.${name}\\.(?:issuer|url)`).test(line));
      expect(named).toHaveLength(1);
      expect(named[0]).toMatch(`provider ${name} `);
      expect(named[0]).toMatch('"warn"');
      expect(
        lines.filter((line) => /secret-of-the-url|code-of-the-victim/.test(line) || line.includes(SECRET)),
      ).toEqual([]);
    });
  });

  // Without iss, the callback address names the provider of the code.
  it.each([
    ['named at authorize', { redirect_uri: 'https://app.example/cb/attacker' }],
    ['left to the default', {}],
  ])(
    'a code that arrived at the redirect URI of another provider stays here; the own one was %s',
    async (_what, named) => {
      const state = await beginSignIn(service.url, { provider: 'contract', ...named });
      const send = (redirect_uri?: string) =>
        request(service.url).post('/oauth2/token').send({ code: 'of-the-victim', state, redirect_uri });
      const { body: refusal } = await send('https://app.example/cb/honest').expect(401);
      expect(refusal).toMatchObject({ error: 'invalid_grant' });
      await send().expect(401); // used up
      expect(attacker.requests).toEqual([]);
    },
  );

  it('an adapter that compares iss itself gets it, whatever it is', async () => {
    const state = await begin('judge', 'c');
    await request(service.url).post('/oauth2/token').send({ code: 'c', state, iss: HONEST }).expect(200);
    attacker.requests.length = 0;
    await refused('judge', 'https://refused.example');
  });

  it('an adapter whose issuer() fails is a server_error; the code stays here', async () => {
    const state = await begin('failing', 'c');
    await request(service.url).post('/oauth2/token').send({ code: 'c', state, iss: HONEST }).expect(500);
    expect(attacker.requests).toEqual([]);
  });
});

/** The attacks as users meet them: two providers of the contract, which send no `iss`, and one of them is hostile. */
describe('a hostile provider beside an honest one', () => {
  let hostile: StubProvider;
  let honest: ContractProvider;
  let service: TestService;
  const callback = (name: string) => `https://app.example/callback/${name}`;

  beforeAll(async () => {
    [hostile, honest] = await Promise.all([StubProvider.start(), ContractProvider.start()]);
    const client = { url: honest.url, client_id: CLIENT.id, client_secret: CLIENT.secret };
    const providers = {
      hostile: { url: hostile.url, redirect_uris: callback('hostile') },
      honest: { ...client, redirect_uris: callback('honest'), pkce: 'on' },
      plain: { ...client, redirect_uris: callback('plain') },
    };
    service = await startTestService(providersEnv(providers));
  });
  afterAll(async () => {
    await service?.close();
    await hostile?.close();
    await honest?.close();
  });
  beforeEach(() => hostile.reset());

  /** A browser at an authorization page, until it arrives at the application. */
  async function arrival(address: string): Promise<URL> {
    const { headers } = await fetch(address, { redirect: 'manual' });
    const next = headers.get('Location')!;
    return next.startsWith('https://app.example/') ? new URL(next) : arrival(next);
  }

  /** The application's page: reports where the callback arrived, as the SDK does. */
  const redeem = (arrived: URL, state = arrived.searchParams.get('state')!) =>
    request(service.url)
      .post('/oauth2/token')
      .send({
        code: arrived.searchParams.get('code'),
        state,
        redirect_uri: arrived.origin + arrived.pathname,
      });

  /** The page of the honest provider, with the parameters of an attacker. */
  function honestPage(name: string, state: string): string {
    const query = { client_id: CLIENT.id, redirect_uri: callback(name), state };
    return `${honest.url}/oauth2/authorize?${new URLSearchParams(query).toString()}`;
  }

  it.each(['honest', 'plain'])('mix-up (RFC 9700 §4.4): gets no code of the provider %s', async (name) => {
    hostile.answer = ({ path }, response) => {
      const state = new URL(path, hostile.url).searchParams.get('state')!;
      response.writeHead(302, { Location: honestPage(name, state) }).end();
    };
    const { redirect_url } = await authorization(service.url, { provider: 'hostile' });
    const arrived = await arrival(redirect_url);
    expect(arrived.pathname).toBe(`/callback/${name}`);
    expect((await redeem(arrived).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
    expect(hostile.requests.map(({ method }) => method)).toEqual(['GET']);
  });

  // An attacker has a code of the victim, and finishes a sign-in of their own with it. Only PKCE prevents it here.
  it.each([
    ['plain', true, 200],
    ['honest', true, 401],
    ['honest', false, 401], // a link without the challenge (RFC 9700 §4.8.2)
  ])('injected code (RFC 9700 §4.5): %s, victim’s own sign-in: %s', async (name, isOwn, status) => {
    const victim = await authorization(service.url, { provider: name });
    const arrived = await arrival(isOwn ? victim.redirect_url : honestPage(name, victim.state));
    const own = await authorization(service.url, { provider: name });
    expect((await redeem(arrived, own.state)).status).toBe(status);
  });
});
