import type { ServerResponse } from 'node:http';
import request from 'supertest';
import { dump, query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const SECRET = 'a client secret of the stub';
const TOKEN = 'gho_a secret access token';

/** The adapter oauth2 and its presets, against a scripted provider. */
describe('the adapter oauth2', () => {
  /** Answers of the two endpoints; an answer that is left out is a good one. */
  let answers: { token?: Answer; user?: Answer };

  type Answer = (response: ServerResponse) => void;
  const json =
    (body: unknown, status = 200): Answer =>
    (response) =>
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));

  const USERS: Record<string, object> = {
    '/hub/user': {
      id: 583231,
      login: 'octocat',
      name: null,
      email: null,
      avatar_url: 'https://avatars.example/u/583231',
    },
    '/discord/users/@me': {
      id: '80351110224678912',
      username: 'nelly',
      global_name: 'Nelly',
      avatar: '8342729096ea3675442027381ff50dfe',
      email: 'nelly@discord.example',
    },
    '/plain/me': { user: { id: 'p-1', names: ['Pat'] }, mail: 'pat@plain.example' },
  };

  const at = (path: string): Record<string, string> => ({
    authorize_url: `${provider.url}/${path}/authorize?prompt=login`,
    token_url: `${provider.url}/${path}/token`,
    userinfo_url: `${provider.url}/${path === 'hub' ? 'hub/user' : path === 'discord' ? 'discord/users/@me' : 'plain/me'}`,
  });

  function env(name: string, keys: Record<string, string>): Record<string, string> {
    const all = { client_id: 'latchkey', client_secret: SECRET, ...keys };
    return Object.fromEntries(Object.entries(all).map(([key, value]) => [`providers.${name}.${key}`, value]));
  }

  const provider = use(() => StubProvider.start());
  const service = use(() =>
    startTestService({
      ...env('hub', { adapter: 'github', ...at('hub') }),
      ...env('discord', { adapter: 'discord', ...at('discord') }),
      ...env('plain', {
        adapter: 'oauth2',
        ...at('plain'),
        claim_user_id: 'user.id',
        claim_username: 'user.names.0',
        claim_email: 'mail',
        claims: 'roles=roles,tenant=user.tenant',
        authorize_params: 'audience=api',
        allowed_params: 'team, ref',
      }),
      ...provider.env('CONTRACT'),
      REDIRECT_URIS: 'https://app.example/cb?a=1',
    }),
  );
  beforeEach(() => {
    answers = {};
    provider.reset();
    const contract = provider.answer;
    provider.answer = (seen, response, raw) => {
      if (seen.path.endsWith('/oauth2/token/exchange')) return contract(seen, response, raw);
      if (seen.path.endsWith('/token')) {
        return (answers.token ?? json({ access_token: TOKEN, token_type: 'bearer', scope: '' }))(response);
      }
      return (answers.user ?? json(USERS[seen.path]))(response);
    };
  });

  async function begin(name: string): Promise<{ redirect_url: string; state: string }> {
    const { body } = await request(service.url)
      .get('/oauth2/authorize')
      .query({ provider: name })
      .expect(200);
    return body as { redirect_url: string; state: string };
  }

  async function signIn(name: string, code = 'a code/with+signs'): Promise<request.Response> {
    const { state } = await begin(name);
    return request(service.url).post('/oauth2/token').send({ code, state });
  }

  it.each([
    ['hub', '583231', { username: 'octocat', email: null, avatar_url: 'https://avatars.example/u/583231' }],
    [
      'discord',
      '80351110224678912',
      {
        username: 'Nelly',
        email: 'nelly@discord.example',
        avatar_url:
          'https://cdn.discordapp.com/avatars/80351110224678912/8342729096ea3675442027381ff50dfe.png',
      },
    ],
    ['plain', 'p-1', { username: 'Pat', email: 'pat@plain.example', avatar_url: null }],
  ])('knows who has signed in with %s', async (name, id, fields) => {
    expect((await signIn(name)).status).toBe(200);
    const rows = await query(
      service.databaseUrl,
      'SELECT provider_user_id, username, email, avatar_url FROM users WHERE provider = $1',
      [name],
    );
    expect(rows).toEqual([{ provider_user_id: id, ...fields }]);
  });

  describe('parameters for the page of the provider', () => {
    const page = async (provider_: string, query_: object): Promise<Record<string, string>> => {
      const { body } = await request(service.url)
        .get('/oauth2/authorize')
        .query({ provider: provider_, ...query_ })
        .expect(200);
      return Object.fromEntries(new URL((body as { redirect_url: string }).redirect_url).searchParams);
    };
    const hints = {
      login_hint: 'ada@x.example',
      prompt: 'none',
      max_age: '60',
      hd: 'x.example',
      scope: 'all',
    };

    it('are passed on: the standard ones, those of the settings, and no others', async () => {
      const { scope: _, ...standard } = hints;
      const parameters = await page('plain', { ...hints, team: 'a&b', other: 'x', ref: '' });
      expect(parameters).toMatchObject({ ...standard, team: 'a&b', audience: 'api' });
      for (const name of ['scope', 'other', 'ref']) expect(parameters).not.toHaveProperty(name);
    });

    it('never reach a provider of the contract', async () =>
      expect(Object.keys(await page('contract', hints))).toEqual(['state', 'client_id', 'redirect_uri']));

    it.each<[string, object]>([
      ['over-long', { login_hint: 'x'.repeat(1025) }],
      ['with control characters', { prompt: 'login\n' }],
      ['no number', { max_age: '-1' }],
      ['repeated', { login_hint: ['a', 'b'] }],
      ['over-long, of the settings', { team: 'x'.repeat(1025) }],
      ['repeated, of the settings', { team: ['a', 'b'] }],
    ])('are refused if they are %s', async (_name, query_) => {
      const { body } = await request(service.url)
        .get('/oauth2/authorize')
        .query({ provider: 'plain', ...query_ })
        .expect(400);
      expect(body).toMatchObject({ error: 'invalid_request' });
    });
  });

  describe('answers', () => {
    type Answers = typeof answers;
    const redirect: Answer = (r) => r.writeHead(302, { Location: `${provider.url}/away` }).end();
    const STATUS = { invalid_grant: 401, server_error: 500 };
    it.each<[keyof typeof STATUS, string, Answers]>([
      ['invalid_grant', 'GitHub, with status 200', { token: json({ error: 'bad_verification_code' }) }],
      ['server_error', 'one that fits in no header', { token: json({ access_token: 'a\r\nX: y' }) }],
      ['server_error', '64 KiB', { token: json({ access_token: 'x', more: 'y'.repeat(65_536) }) }],
      ['server_error', 'a redirect', { token: redirect }],
      ['server_error', 'a redirect of the userinfo', { user: redirect }],
      ['server_error', 'userinfo that is not JSON', { user: json('<html>') }],
      ['server_error', 'an id that JSON rounds', { user: json('{"id":90071992547409931}') }],
    ])('%s for %s', async (error, _name, given) => {
      const users = async (): Promise<string> =>
        (await dump(service.databaseUrl)).replaceAll(/^authorization_states .*\n?/gm, '');
      const before = await users();
      answers = given;
      const response = await signIn('hub');
      expect([response.status, response.body]).toEqual([
        STATUS[error],
        { error, error_description: expect.any(String) },
      ]);
      expect(await users()).toBe(before);
      expect(provider.requests.some(({ path }) => path === '/away')).toBe(false);
    });

    it('… and no part of them is in the log', () => {
      const log = service.log.join('\n');
      expect(log).toContain('something that is not JSON');
      const secrets = [SECRET, TOKEN, 'a code/with+signs'];
      expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
    });
  });

  it('sends a code or secret only to the provider for which the state was made (P2)', async () => {
    const names = ['hub', 'discord', 'plain', 'contract'];
    const paths: Record<string, string> = { contract: '/oauth2/token/exchange' };
    const pairs = names.flatMap((begun) => names.map((claimed) => [begun, claimed] as const));
    await Promise.all(
      pairs.map(async ([begun, claimed]) => {
        const { state } = await begin(begun);
        const body = { code: `for-${begun}`, state, provider: claimed };
        await request(service.url).post('/oauth2/token').send(body).expect(200);
      }),
    );
    const exchanges = provider.requests.filter(({ method }) => method === 'POST');
    expect(exchanges).toHaveLength(pairs.length);
    for (const { path, body } of exchanges) {
      const name = new URLSearchParams(body).get('code')?.replace('for-', '') ?? '';
      expect(path).toBe(paths[name] ?? `/${name}/token`);
    }
  });
});
