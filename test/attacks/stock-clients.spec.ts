import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { dump } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { beginSignIn, claimsOf, type Tokens } from '../support/sign-in.js';
import { answerIn, REDIRECT_URI, returnWith, StockClient } from '../support/stock-client.js';
import { speakOpenId } from '../support/openid-stub.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const ATTACKER = 'https://evil.example';
const LISTED = [REDIRECT_URI, 'http://127.0.0.1/cb', 'com.example.app:/callback'];

/**
 * The attacks of RFC 9700 §4, section by section, on the endpoints for stock OAuth clients
 * (docs/stock-clients.md#stock-oauth-clients). test/auth/stock-clients.spec.ts has a wrong `iss` (§4.4), a
 * code of another client (§4.5), another sign-in's state (§4.7), a code without its verifier (§4.8);
 * test/token/dpop.spec.ts has stolen tokens (§4.10.1, §4.14), test/token/keys.spec.ts the audience of tokens
 * (§4.9), test/http/http.spec.ts headers of a proxy (§4.13) beyond what the answers are made of.
 */
describe('attacks on the sign-in of stock OAuth clients (RFC 9700 §4)', () => {
  let nonces: Map<string, string>;
  const client = new StockClient();

  const provider = use(() => StubProvider.start());
  const corp = use(() => StubProvider.start());
  beforeAll(() => {
    nonces = speakOpenId(corp);
  });
  const service = use(() =>
    startTestService({
      ...providersEnv({
        stub: { url: provider.url },
        other: { url: provider.url },
        corp: { url: corp.url, adapter: 'oidc' },
      }),
      REDIRECT_URIS: LISTED.join(),
      LOG_LEVEL: 'trace',
    }),
  );
  beforeEach(() => provider.reset());

  const begin = (name = 'stub', more: Record<string, unknown> = {}, as = client) =>
    as.authorize(service.url, { provider: name, ...more });
  const callback = (begun: request.Response, answer: Record<string, string>) =>
    returnWith(service.url, begun, answer);
  const errorOf = ({ body }: request.Response): unknown => (body as { error?: unknown }).error;

  const UNLISTED = [
    `${REDIRECT_URI}/`,
    `${REDIRECT_URI}#fragment`,
    `${REDIRECT_URI}/../cb`,
    `${REDIRECT_URI}\\@evil.example`,
    'HTTPS://app.example/cb',
    'https://app.example:443/cb',
    'https://app.example@evil.example/cb',
    'https://app.example.evil.example/cb',
    'http://app.example/cb',
    '/cb',
    'https://evil.example/cb',
    'http://127.0.0.1:1/other',
    'http://127.0.0.1.evil.example/cb',
    'com.example.app:/callback/x',
    'javascript:alert(1)//https://app.example/cb',
    `${REDIRECT_URI}\r\nSet-Cookie: a=b`,
    `${REDIRECT_URI}\0`,
    'http://localhost:3000/oauth2/authorize',
  ];

  it('§4.1, §4.11.2 (redirect URIs, open redirect): what is not on the list, to the letter, is shown and not gone to', async () => {
    const before = await dump(service.databaseUrl);
    for (const redirect_uri of UNLISTED) {
      const answers = await Promise.all([
        begin('stub', { redirect_uri }),
        begin('stub', { redirect_uri }).set('Accept', 'text/html'),
        begin('nobody', { redirect_uri, response_type: 'x', code_challenge: undefined }),
      ]);
      for (const { status, headers, text } of answers) {
        expect([redirect_uri, status, headers['location']]).toEqual([redirect_uri, 400, undefined]);
        expect(text).not.toContain('evil');
      }
    }
    expect(await dump(service.databaseUrl)).toBe(before);
  });

  it('§4.1 (redirect URIs): its own endpoints are none, under whichever name, even without a list', async () => {
    const open = await startTestService({
      ...provider.env(),
      DATABASE_URL: service.databaseUrl,
    });
    try {
      const { port } = new URL(open.url);
      for (const uri of [
        `${open.url}/oauth2/authorize`,
        `${open.url}/providers/stub/callback`,
        `http://127.0.0.1:${port}/PROVIDERS/stub/callback`,
        `${open.url}/x/../oauth2/authorize`,
      ]) {
        const answer = await client.authorize(open.url, { provider: 'stub', redirect_uri: uri }).expect(400);
        expect(answer.headers['location']).toBeUndefined();
      }
    } finally {
      await open.close();
    }
  });

  it('§4.2, §4.3 (Referer, browser history): no answer says where it came from, none has a token, and a code from a history is spent', async () => {
    const begun = await begin().expect(302);
    const back = await callback(begun, { code: 'ada' }).expect(302);
    const shown = await callback(begun, { code: 'ada' }).set('Accept', 'text/html').expect(400);
    const page = await client.authorize(service.url).expect(200);
    for (const { headers, text } of [begun, back, shown, page]) {
      expect(headers['referrer-policy']).toBe('no-referrer');
      expect(headers['cache-control']).toBe('no-store');
      expect(text).not.toMatch(/https?:\/\/(?!www\.w3\.org)|src=|@import/); // nothing is loaded from elsewhere
    }
    const { code } = answerIn(back);
    const { body } = await client.token(service.url, code!).expect(200);
    const { access_token, refresh_token } = body as Tokens;
    for (const { headers } of [begun, back]) {
      expect(headers['location']).not.toContain(access_token.slice(0, 20));
      expect(headers['location']).not.toContain(refresh_token.slice(0, 20));
    }
    expect(errorOf(await client.token(service.url, code!).expect(401))).toBe('invalid_grant');
  });

  describe('§4.4 (mix-up)', () => {
    it('each provider has a callback of its own, which takes no state of another one and none of the other flow', async () => {
      const addresses = ['stub', 'other', 'corp'].map(
        async (name) => answerIn(await begin(name))['redirect_uri'],
      );
      expect(new Set(await Promise.all(addresses)).size).toBe(3);
      const ofStub = answerIn(await begin('stub').expect(302))['state'];
      const ofSpecification = await beginSignIn(service.url, { redirect_uri: REDIRECT_URI });
      for (const [name, state] of [
        ['other', ofStub],
        ['corp', ofStub],
        ['stub', ofSpecification],
      ] as const) {
        for (const accept of ['*/*', 'text/html']) {
          const answer = await request(service.url)
            .get(`/providers/${name}/callback`)
            .set('Accept', accept)
            .query({ code: 'of the victim', state });
          expect([answer.status, answer.headers['location']]).toEqual([
            accept === '*/*' ? 401 : 400,
            undefined,
          ]);
        }
      }
      expect(provider.requests).toEqual([]); // the code went nowhere
    });

    it('POST /oauth2/token takes no state of this flow, with the verifier or without', async () => {
      for (const code_verifier of [undefined, client.verifier]) {
        const { state } = answerIn(await begin().expect(302));
        const body = { code: 'of the victim', state, code_verifier };
        expect(errorOf(await request(service.url).post('/oauth2/token').send(body).expect(401))).toBe(
          'invalid_grant',
        );
      }
      expect(provider.requests).toEqual([]);
    });
  });

  describe('§4.5 (code injection)', () => {
    it('a code of the provider is of no use here, nor in the callback of another sign-in', async () => {
      const [victims, attackers] = [await begin('corp').expect(302), await begin('corp').expect(302)];
      nonces.set('of the victim', answerIn(victims)['nonce']!);
      const back = await callback(attackers, { code: 'of the victim', iss: corp.url }).expect(302);
      expect(answerIn(back)).toMatchObject({ error: 'server_error' }); // by its nonce
    });
  });

  it.each(['token', 'id_token', 'none', 'code token', 'CODE', 'code '])(
    '§4.6 (access token injection): response_type %j gives no token, since none comes by the browser',
    async (response_type) => {
      const answer = await begin('stub', { response_type, response_mode: 'fragment' }).expect(302);
      expect(answerIn(answer)['error']).toBe('unsupported_response_type');
      expect(answer.headers['location']).not.toContain('#');
    },
  );

  it.each([undefined, '', 'plain', 's256', 'S512'])(
    '§4.8 (PKCE downgrade): code_challenge_method %j begins nothing',
    async (code_challenge_method) => {
      for (const code_challenge of [undefined, '', client.verifier]) {
        const more = { code_challenge_method, code_challenge };
        expect(answerIn(await begin('stub', more).expect(302))['error']).toBe('invalid_request');
      }
    },
  );

  it('§4.11.1, §4.12 (open redirect, 307): every redirect is a 302 to the provider or to what is listed', async () => {
    const begun = await begin('stub', { redirect: ATTACKER, next: ATTACKER, return_to: ATTACKER });
    const answers = [
      begun,
      await callback(begun, { code: 'ada', redirect_uri: ATTACKER }),
      await begin('stub', { response_type: 'x' }),
      await callback(await begin(), { error: 'x', error_uri: ATTACKER }),
    ];
    for (const { status, headers } of answers) {
      expect(status).toBe(302);
      const { origin } = new URL(headers['location']!);
      expect([provider.url, new URL(REDIRECT_URI).origin]).toContain(origin);
      expect(headers['location']).not.toContain('evil');
    }
    await request(service.url).post('/oauth2/authorize').send(client.authorizationRequest()).expect(405);
    await request(service.url).post('/providers/stub/callback').send({ code: 'ada' }).expect(400);
  });

  it('§4.13 (proxies): no header of a client says where anybody is sent, or who answers', async () => {
    const forged = {
      Host: 'evil.example',
      'X-Forwarded-Host': 'evil.example',
      Forwarded: 'host=evil.example',
    };
    const begun = await begin().set(forged).expect(302);
    const back = await callback(begun, { code: 'ada' }).set(forged).expect(302);
    for (const { headers } of [begun, back]) expect(headers['location']).not.toContain('evil');
  });

  it('§4.15 (a client as a user): what a client calls itself is nobody’s id', async () => {
    const { body } = await client.token(service.url, await client.codeFrom(service.url, { code: 'ada' }));
    const { user_id } = body as Tokens;
    const impostor = new StockClient(REDIRECT_URI, user_id);
    const code = await impostor.codeFrom(service.url, { code: 'mallory' });
    const claims = claimsOf(((await impostor.token(service.url, code)).body as Tokens).access_token);
    expect(claims['sub']).not.toBe(user_id);
    expect(Object.values(claims)).not.toContain(user_id);
  });

  it('§4.16, §4.17 (clickjacking, messages between windows): nothing can be framed, and no page has a script', async () => {
    const begun = await begin('stub', { response_mode: 'web_message', prompt: 'none' }).expect(302);
    const page = await client.authorize(service.url, { state: '"><script>alert(1)</script>' }).expect(200);
    const error = await begin('stub', { state: '\t' }).set('Accept', 'text/html').expect(400);
    for (const { headers } of [begun, page, error]) {
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).not.toMatch(/script-src|unsafe/);
    }
    for (const { text } of [page, error]) expect(text).not.toMatch(/<script|\son\w+=|javascript:/i);
    expect(begun.headers['location']).toMatch(/^https:\/\/app\.example\/.*[?&]error=invalid_request\b/);
  });

  it('codes, states and verifiers are in no log and, but for hashes, in no table', async () => {
    const code = await client.codeFrom(service.url, { code: `id-${randomUUID()}` });
    const state = answerIn(await begin().expect(302))['state']!;
    await client.token(service.url, code).expect(200);
    const everything = (await dump(service.databaseUrl, { refusals: true })) + service.log.join('\n');
    for (const secret of [code, state, client.verifier]) expect(everything.includes(secret)).toBe(false);
  });
});
