import request from 'supertest';
import { ProviderRegistry } from '../../src/provider/provider.registry.js';
import { startTestService } from '../support/service.js';
import { beginSignIn } from '../support/sign-in.js';
import { providersEnv, StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

interface Line {
  readonly level: string;
  readonly context?: string;
  readonly msg?: string;
  readonly left_out?: number;
}

const SECRET = 'a client secret of the stub';
const CODE = 'a/code/that/nobody/may/read';
const CHALLENGE = 'c'.repeat(43);

/**
 * What operators learn of a provider that refuses or cannot be asked, and clients do not
 * (docs/providers.md#if-it-does-not-work).
 */
describe('warnings of a provider', () => {
  const stub = use(() => StubProvider.start());
  const providers = () => ({
    contract: { url: stub.url, redirect_uris: 'https://app.example/contract' },
    forum: {
      redirect_uris: 'https://app.example/forum',
      adapter: 'oauth2',
      authorize_url: `${stub.url}/authorize`,
      token_url: `${stub.url}/token?tenant=s3cret-query`,
      userinfo_url: `${stub.url}/me`,
      claim_user_id: 'id',
    },
    corp: { adapter: 'oidc', url: `${stub.url}/realms/corp`, redirect_uris: 'https://app.example/corp' },
  });
  const service = use(() =>
    startTestService({ ...providersEnv(providers()), REDIRECT_URIS: 'https://app.example/cb' }),
  );
  beforeEach(() => stub.reset());

  const begin = (provider: string) => beginSignIn(service.url, { provider });
  const linesSince = (seen: number, level = 'warn'): Line[] =>
    service.log
      .slice(seen)
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.level === level && /^Provider(?:Code|Callback)?$/.test(line.context ?? ''));

  /** A sign-in that fails: its answer, and the warnings. */
  async function failed(
    provider: string,
  ): Promise<{ answer: string; status: number; warnings: (string | undefined)[] }> {
    const state = await begin(provider);
    const seen = service.log.length;
    const { text, status } = await request(service.url).post('/oauth2/token').send({ code: CODE, state });
    return { answer: text, status, warnings: linesSince(seen).map(({ msg }) => msg) };
  }

  it.each([
    [
      'contract',
      401,
      { error: 'invalid_client', error_description: 'Client secret expired on 1 May' },
      'provider contract failed (exchange): invalid_client (Client secret expired on 1 May), HTTP 401 from <url>/oauth2/token/exchange; look at providers.contract.client_id, providers.contract.client_secret',
    ],
    [
      'forum',
      200,
      { error: 'incorrect_client_credentials' },
      'provider forum failed (exchange): incorrect_client_credentials, HTTP 200 from <url>/token; look at providers.forum.client_id, providers.forum.client_secret, providers.forum.token_endpoint_auth_method; a provider that refuses code_verifier needs pkce=off (providers.forum.pkce)',
    ],
    [
      'forum',
      400,
      { error: 'invalid_scope', error_description: 7 },
      'provider forum failed (exchange): invalid_scope (an error that is not text), HTTP 400 from <url>/token; look at providers.forum.scope',
    ],
    [
      'contract',
      400,
      { error: 'invalid_grant', error_description: 'used' },
      'provider contract failed (exchange): invalid_grant (used), HTTP 400 from <url>/oauth2/token/exchange; look at providers.contract.redirect_uris, providers.contract.pkce',
    ],
    [
      'contract',
      503,
      { error: { code: 17 } },
      'provider contract failed (exchange): the provider answered with status 503: an unknown error, HTTP 503 from <url>/oauth2/token/exchange; look at providers.contract.url',
    ],
    [
      'forum',
      404,
      '<html>s3cret</html>',
      'provider forum failed (exchange): the provider answered with something that is not JSON, HTTP 404 from <url>/token; look at providers.forum.token_url',
    ],
  ])('%s, status %i, %j', async (provider, status, body, line) => {
    stub.answerWith(status, body);
    const { answer, warnings } = await failed(provider);
    expect(warnings).toEqual([line.replace('<url>', stub.url)]);
    expect(answer).not.toMatch(/expired|s3cret|127\.0\.0\.1|providers\./);
  });

  it('has the words of the provider cleaned and cut, without what is secret', async () => {
    const words = `bad\u001b[31m\r\ncode\u0085\u202e ${CODE} ${encodeURIComponent(CODE)} of ${SECRET}: ${'x'.repeat(500)}`;
    stub.answerWith(400, { error: 'invalid_client', error_description: words });
    const { warnings } = await failed('contract');
    const [, said = ''] = /invalid_client \((.*)\), HTTP 400/.exec(warnings[0] ?? '') ?? [];
    expect(said).toMatch(/^bad \[31m code  \*\*\* \*\*\* of \*\*\*: x+$/);
    expect(said).toHaveLength(200);
  });

  // Anyone can cause them: 100 lines a second, which hide no other warning.
  it('are bounded for bad codes', async () => {
    const provider = service.app.get(ProviderRegistry).get('contract');
    const callback = { code: CODE, state: 'a state', redirectUri: 'https://app.example/contract' };
    stub.answerWith(400, { error: 'invalid_grant' });
    const seen = service.log.length;
    const began = performance.now();
    const exchanges = Array.from({ length: 260 }, () => provider.exchange(callback));
    const ended = await Promise.allSettled(exchanges);
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['rejected']));
    stub.answerWith(401, { error: 'invalid_client' });
    const { warnings } = await failed('contract');
    // A line that counts the lines left out, each second, has no message.
    expect(warnings.filter(Boolean)).toHaveLength(1);
    const seconds = Math.ceil((performance.now() - began) / 1000);
    const lines = linesSince(seen).filter(({ msg }) => msg?.includes('invalid_grant'));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(100 * (seconds + 1));
  });

  it.each([
    ['invalid_scope', 'no such scope', 'look at providers.forum.scope'],
    ['unauthorized_client', undefined, 'look at providers.forum.client_id'],
  ])('has what the provider says in a callback of ours: %s', async (error, error_description, setting) => {
    const begun = await request(service.url).get('/oauth2/authorize').redirects(0).query({
      response_type: 'code',
      client_id: 'app',
      redirect_uri: 'https://app.example/cb',
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
      provider: 'forum',
    });
    const state = new URL(begun.headers['location'] as string).searchParams.get('state');
    const seen = service.log.length;
    const { headers } = await request(service.url)
      .get('/providers/forum/callback')
      .redirects(0)
      .query({ state, error, error_description });
    expect(headers['location']).toContain('error=server_error');
    expect(headers['location']).not.toContain('scope');
    const lines = linesSince(seen).map(({ msg }) => msg);
    const [line, ...more] = lines.filter(Boolean); // a line that counts the lines left out has no message
    expect(more).toEqual([]);
    const description = error_description === undefined ? '' : ` (${error_description})`;
    expect(line).toContain(
      `provider forum failed (authorize): ${error}${description} from the callback; ${setting}`,
    );
  });

  describe('at the start, of a wrong discovery address', () => {
    const check = async (): Promise<string[]> => {
      const lines: string[] = [];
      await service.app.get(ProviderRegistry).check((line) => void lines.push(line));
      return lines;
    };

    it.each<[string, number, unknown, string, Record<string, string>]>([
      ['not found', 404, { error: 'Realm does not exist' }, 'Realm does not exist, HTTP 404', {}],
      ['a page', 200, '<html>', 'the provider answered with something that is not JSON, HTTP 200', {}],
      ['a redirect', 301, '', 'the discovery document is not available, HTTP 301', { Location: '/x' }],
    ])('is one line: %s', async (_what, status, body, cause, headers) => {
      stub.answerWith(status, body, headers);
      const address = `${stub.url}/realms/corp/.well-known/openid-configuration`;
      expect(await check()).toEqual([
        `Provider corp cannot be used now: ${cause} from ${address}; look at providers.corp.url`,
      ]);
    });

    // The document of another issuer, at an OpenID provider and at one whose adapter was forgotten.
    it.each([
      [
        'https://login.example/realms/corp',
        ': set providers.corp.url to https://login.example/realms/corp',
        'set providers.contract.adapter to oidc, and providers.contract.url to https://login.example/realms/corp',
      ],
      [
        'https://login.example/{tenantid}/v2.0',
        ': set providers.corp.url to https://login.example/<tenant id>/v2.0 for one tenant, or providers.corp.adapter to microsoft for several',
        'set providers.contract.adapter to oidc',
      ],
      ['javascript:alert(1)', 'which is not an address', undefined],
    ])('names the value to set: %s', async (issuer, value, forgotten) => {
      stub.answerWith(200, { issuer, authorization_endpoint: 'https://login.example/authorize' });
      const lines = await check();
      const [ofCorp, ...others] = ['corp', 'contract'].map((name) =>
        lines.filter((line) => line.startsWith(`Provider ${name} cannot be used now: `)),
      );
      expect(ofCorp).toEqual([expect.stringContaining(value)]);
      const line = `it is an OpenID Connect provider: ${forgotten}`;
      expect(others).toEqual([forgotten === undefined ? [] : [expect.stringContaining(line)]]);
      expect(lines).toHaveLength(forgotten === undefined ? 1 : 2);
    });
  });
});
