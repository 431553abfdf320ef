import { readFileSync } from 'node:fs';
import request from 'supertest';
import { advice, UNSUPPORTED, unsupportedIn } from '../../src/provider/adapters/unsupported.js';
import { usedMetadata } from '../../src/provider/adapters/used-members.js';
import { ProviderRegistry } from '../../src/provider/provider.registry.js';
import { OidcIssuer, Person, TamperingProxy } from '../support/oidc-issuer.js';
import { startTestService } from '../support/service.js';
import { use } from '../support/use.js';

type Kind = keyof typeof UNSUPPORTED;
const SECRET = 'a client secret of the issuer';

/**
 * What the documents call "not supported": each is found, and the log names what to change
 * (docs/providers.md#not-supported).
 */
describe('what is not supported', () => {
  const AT = 'https://login.corp.example';
  const AUTH_METHODS = 'token_endpoint_auth_methods_supported';
  const ALGORITHMS = 'id_token_signing_alg_values_supported';
  const METHODS = 'code_challenge_methods_supported';
  const linesOf = (changes: object, options: Record<string, string> = {}): string[] => {
    const addresses = { authorization_endpoint: `${AT}/a`, token_endpoint: `${AT}/t`, jwks_uri: `${AT}/j` };
    const document = usedMetadata({ issuer: AT, ...addresses, ...changes });
    return unsupportedIn(document, { url: AT, options }).map(({ message }) => message);
  };
  const http = (jwks_uri: string) => ({
    issuer: 'http://a/https:',
    authorization_endpoint: 'http://a',
    token_endpoint: 'http://a',
    jwks_uri,
  });

  it.each<[object, Kind, string]>([
    [{ jwks_uri: undefined }, 'addresses', 'jwks_uri'],
    [{ jwks_uri: 'ftp://https://x/' }, 'addresses', 'jwks_uri'],
    [http('ftp://http://x/'), 'addresses', 'jwks_uri'],
    [
      { response_types_supported: ['id_token', 'xcode'] },
      'codeFlow',
      'response_types_supported: id_token, xcode',
    ],
    [
      { [AUTH_METHODS]: ['private_key_jwt', 'tls_client_auth', 'none'] },
      'clientKeys',
      `${AUTH_METHODS}: private_key_jwt, tls_client_auth, none`,
    ],
    [
      { require_pushed_authorization_requests: true },
      'pushedAddress',
      'pushed_authorization_request_endpoint',
    ],
    [{ require_signed_request_object: true }, 'requestObjects', 'require_signed_request_object: true'],
    [{ [METHODS]: ['plain'] }, 'pkceMethod', `${METHODS}: plain`],
    [{ [METHODS]: ['\u001b[1m', 'x'.repeat(41)] }, 'pkceMethod', `${METHODS}: no known name`],
    [
      { [ALGORITHMS]: ['HS256', 'xRS256', 'RS2567', 'none'] },
      'idTokenSignature',
      `${ALGORITHMS}: HS256, xRS256, RS2567, none`,
    ],
  ])('in a discovery document: %j', (changes, kind, seen) => {
    expect(linesOf(changes)).toEqual([advice(kind, seen)]);
  });

  it('is a pushed request that the settings exclude, and not one that they allow', () => {
    const pushed = {
      require_pushed_authorization_requests: true,
      pushed_authorization_request_endpoint: `${AT}/par`,
    };
    expect(linesOf(pushed)).toEqual([]);
    const seen = 'require_pushed_authorization_requests: true';
    expect(linesOf(pushed, { par: 'off' })).toEqual([advice('pushedRequests', seen)]);
    expect(linesOf({}, { par: 'on' })).toEqual([
      advice('pushedAddress', 'pushed_authorization_request_endpoint'),
    ]);
  });

  it('is a line for each thing', () => {
    expect(linesOf({ [AUTH_METHODS]: ['none'] })).toEqual([
      advice('publicClients', `${AUTH_METHODS}: none`),
      advice('clientKeys', `${AUTH_METHODS}: none`),
    ]);
    expect(linesOf({ jwks_uri: undefined, require_signed_request_object: true })).toHaveLength(2);
  });

  it.each<[object, Record<string, string>?]>([
    [{}],
    [http('http://a')],
    [{ issuer: 'HTTPS://a', jwks_uri: 'HTTPS://a' }],
    [{ response_types_supported: 'code', grant_types_supported: [7, null] }],
    [
      {
        response_types_supported: ['id_token', 'code'],
        grant_types_supported: ['implicit', 'authorization_code'],
      },
    ],
    [{ [AUTH_METHODS]: ['none', 'client_secret_basic'] }],
    [{ [AUTH_METHODS]: ['none'] }, { token_endpoint_auth_method: 'client_secret_post' }],
    [{ require_pushed_authorization_requests: false, require_signed_request_object: 'true' }],
    [{ response_modes_supported: ['form_post'] }], // as Slack's
    [{ [METHODS]: ['plain'] }, { pkce: 'off' }],
    ...['RS256', 'PS384', 'EdDSA'].map((alg): [object] => [{ [ALGORITHMS]: ['HS256', alg] }]),
  ])('is not %j, with the settings %j', (changes, ...[options]) => {
    expect(linesOf(changes, options)).toEqual([]);
  });

  it('is what the documents list, word for word', () => {
    const text = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
    const [, section = ''] = text.split('\n## Not supported\n');
    const rows = section
      .split('\n\n')
      .find((block) => block.startsWith('|'))!
      .matchAll(/^\| (\S[^|]*?) +\| (\S[^|]*?) +\|/gm);
    const listed = [...rows].map(([, found, change]) => [found, change]).slice(2);
    expect(listed).toEqual(Object.values(UNSUPPORTED));
  });

  /** A real provider, set in ways that its operators may choose. */
  describe('at a provider', () => {
    // Its document lists them for the clients that want them.
    const OFFERED = { encryption: { enabled: true }, jwtUserinfo: { enabled: true } };
    const OFFERED_ALGORITHMS: OidcIssuer['enabledJWA'] = {
      idTokenSigningAlgValues: ['ES256', 'HS256'],
      userinfoSigningAlgValues: ['ES256', 'HS256'],
      idTokenEncryptionAlgValues: ['dir'],
    };
    const proxy = use(() => TamperingProxy.start());
    const issuer = use(() => OidcIssuer.behind(proxy, { features: OFFERED, enabledJWA: OFFERED_ALGORITHMS }));
    const service = use(() =>
      startTestService({
        PROVIDERS_CORP_ADAPTER: 'oidc',
        PROVIDERS_CORP_URL: proxy.url,
        PROVIDERS_CORP_CLIENT_ID: 'latchkey',
        PROVIDERS_CORP_CLIENT_SECRET: SECRET,
        PROVIDERS_PUSHED_ADAPTER: 'oidc',
        PROVIDERS_PUSHED_URL: proxy.url,
        PROVIDERS_PUSHED_CLIENT_ID: 'latchkey',
        PROVIDERS_PUSHED_CLIENT_SECRET: SECRET,
        PROVIDERS_AWAY_ADAPTER: 'oidc',
        PROVIDERS_AWAY_URL: 'http://127.0.0.1:1',
        PROVIDERS_AWAY_CLIENT_ID: 'latchkey',
        PROVIDERS_AWAY_REDIRECT_URIS: 'https://away.example/cb',
        PROVIDERS_AWAY_CLIENT_SECRET: SECRET,
        REDIRECT_URIS: 'https://app.example/other',
      }),
    );
    afterEach(() => issuer.restart({ client: {}, features: OFFERED, claimsInIdToken: true }));

    const authorize = (provider = 'corp'): request.Test =>
      request(service.url).get('/oauth2/authorize').query({ provider });

    async function signIn(provider?: string): Promise<request.Response> {
      const { body } = await authorize(provider).expect(200);
      const callback = await new Person('ada').authorize((body as { redirect_url: string }).redirect_url);
      return request(service.url).post('/oauth2/token').send(Object.fromEntries(callback.searchParams));
    }

    /** Causes that were logged since then. */
    async function logged(work: () => Promise<unknown>): Promise<unknown[]> {
      const before = service.log.length;
      await work();
      const lines = service.log.slice(before);
      expect(lines.join()).not.toContain(SECRET);
      return lines.map((line) => (JSON.parse(line) as { err?: { cause?: object } }).err?.cause);
    }

    const PUSHED = {
      pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true },
    };

    it('signed requests: the start goes on with a warning, sign-ins are refused, and what was changed counts at once', async () => {
      proxy.tamper = (path, body) =>
        path.endsWith('/openid-configuration') ? { ...body, require_signed_request_object: true } : undefined;
      const line = advice('requestObjects', 'require_signed_request_object: true');
      const warnings: string[] = [];
      await service.app.get(ProviderRegistry).check((warning) => void warnings.push(warning));
      expect(warnings).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^Provider away cannot be used now: .*ECONNREFUSED/),
          `Provider corp cannot be used now: ${line}`,
        ]),
      );
      const causes = await logged(async () =>
        expect((await authorize().expect(500)).body).toMatchObject({ error: 'server_error' }),
      );
      expect(causes).toContainEqual(
        expect.objectContaining({ message: `provider corp cannot be used: ${line}` }),
      );
      proxy.tamper = () => undefined;
      expect((await signIn()).status).toBe(200);
    });

    it('pushed requests are made if the document demands them', async () => {
      issuer.restart({ features: PUSHED });
      const { body } = await authorize('pushed').expect(200);
      const { redirect_url: url } = body as { redirect_url: string };
      expect([...new URL(url).searchParams.keys()].toSorted()).toEqual(['client_id', 'request_uri']);
      expect((await signIn('pushed')).status).toBe(200);
    });

    const encrypted = {
      id_token_encrypted_response_alg: 'dir',
      id_token_encrypted_response_enc: 'A128CBC-HS256',
    } as const;
    it.each<[Kind, Partial<OidcIssuer>]>([
      ['idTokenSignature', { client: { id_token_signed_response_alg: 'HS256' } }],
      ['idTokenEncryption', { client: encrypted }],
      ['userinfoSignature', { claimsInIdToken: false, client: { userinfo_signed_response_alg: 'HS256' } }],
    ])('%s', async (kind, settings) => {
      issuer.restart(settings);
      const causes = await logged(async () =>
        expect((await signIn()).body).toMatchObject({ error: 'server_error' }),
      );
      const [found, change] = UNSUPPORTED[kind];
      expect(causes).toContainEqual(
        expect.objectContaining({
          message: expect.stringMatching(`^provider corp cannot be used: ${found} .*: ${change}$`),
        }),
      );
    });

    it('a public client is refused by the provider itself: invalid_client', async () => {
      issuer.restart({ client: { token_endpoint_auth_method: 'none', client_secret: undefined } as object });
      expect((await signIn()).body).toMatchObject({ error: 'invalid_client' });
    });
  });
});
