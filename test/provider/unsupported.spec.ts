import { readFileSync } from 'node:fs';
import request from 'supertest';
import { judgeMetadata } from '../../src/provider/adapters/judge-metadata.js';
import { judgeToken } from '../../src/provider/adapters/judge-token.js';
import { UNSUPPORTED, type Unsupported } from '../../src/provider/adapters/unsupported.js';
import { ProviderRegistry } from '../../src/provider/provider.registry.js';
import { OidcIssuer } from '../support/oidc-issuer.js';
import { Person } from '../support/oidc-person.js';
import { TamperingProxy } from '../support/oidc-proxy.js';
import { startTestService, type TestService } from '../support/service.js';

const SECRET = 'a client secret of the issuer';

/** Everything that providers list, ours among it. */
const COMPLETE = {
  response_types_supported: ['id_token', 'code'],
  grant_types_supported: ['implicit', 'authorization_code'],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
  code_challenge_methods_supported: ['plain', 'S256'],
  id_token_signing_alg_values_supported: ['HS256', 'none', 'RS256'],
};

/** What the documents call "not supported": each is found, and the log names what to change (contract §6). */
describe('what is not supported', () => {
  const USUAL = {
    issuer: 'https://login.corp.example',
    authorization_endpoint: 'https://login.corp.example/authorize',
    token_endpoint: 'https://login.corp.example/token',
    jwks_uri: 'https://login.corp.example/jwks',
  };

  describe('in a discovery document', () => {
    const found = (metadata: object, setting?: string): string[] =>
      judgeMetadata(
        { ...USUAL, ...metadata },
        setting === undefined ? {} : { token_endpoint_auth_method: setting },
      ).map(({ message }) => message);

    it.each<[string, object, Unsupported['kind'], string]>([
      ['no keys', { jwks_uri: undefined }, 'addresses', 'jwks_uri'],
      [
        'no token endpoint, and an http page',
        { token_endpoint: 7, authorization_endpoint: 'http://login.corp.example/' },
        'addresses',
        'authorization_endpoint, token_endpoint',
      ],
      [
        'the implicit flow alone',
        { response_types_supported: ['id_token', 'token id_token'] },
        'codeFlow',
        'response_types_supported: id_token, token id_token',
      ],
      [
        'other grants alone',
        { grant_types_supported: ['implicit', 'urn:x'] },
        'codeFlow',
        'grant_types_supported: implicit',
      ],
      [
        'public clients',
        { token_endpoint_auth_methods_supported: ['none'] },
        'publicClients',
        'token_endpoint_auth_methods_supported: none',
      ],
      [
        'clients with keys or certificates',
        { token_endpoint_auth_methods_supported: ['private_key_jwt', 'tls_client_auth', 'none'] },
        'clientKeys',
        'token_endpoint_auth_methods_supported: private_key_jwt, tls_client_auth, none',
      ],
      [
        'pushed requests',
        { require_pushed_authorization_requests: true },
        'pushedRequests',
        'require_pushed_authorization_requests: true',
      ],
      [
        'signed requests',
        { require_signed_request_object: true },
        'requestObjects',
        'require_signed_request_object: true',
      ],
      [
        'plain challenges',
        { code_challenge_methods_supported: ['plain'] },
        'pkceMethod',
        'code_challenge_methods_supported: plain',
      ],
      [
        'ID tokens with a MAC, or none',
        { id_token_signing_alg_values_supported: ['HS256', 'HS512', 'none'] },
        'idTokenSignature',
        'id_token_signing_alg_values_supported: HS256, HS512, none',
      ],
      [
        'something that is not a name',
        { code_challenge_methods_supported: ['\u001b[1m', 'x'.repeat(5000)] },
        'pkceMethod',
        'code_challenge_methods_supported: nothing known',
      ],
    ])('%s', (_name, metadata, kind, detail) => {
      expect(found(metadata)).toEqual([lineOf(kind, detail)]);
    });

    it('several things are several lines', () => {
      const all = { ...USUAL, jwks_uri: undefined, require_pushed_authorization_requests: true };
      expect(found(all)).toHaveLength(2);
    });

    it.each<[string, object]>([
      ['says no more than it must', {}],
      ['says things of another type', { response_types_supported: 'code', grant_types_supported: [7, null] }],
      ['lists what we use among others', COMPLETE],
      [
        'demands nothing',
        { require_pushed_authorization_requests: false, require_signed_request_object: 'true' },
      ],
      ['lists form_post alone, as Slack does', { response_modes_supported: ['form_post'] }],
    ])('nothing where it %s', (_name, metadata) => expect(found(metadata)).toEqual([]));

    it('nothing about a method that the settings choose themselves', () => {
      expect(found({ token_endpoint_auth_methods_supported: ['none'] }, 'client_secret_post')).toEqual([]);
    });
  });

  describe('in a token', () => {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const jwt = (alg: unknown): string => `${part({ alg })}.${part({})}.x`;
    const idToken = (token: unknown): [Uint8Array, string] => [
      Buffer.from(JSON.stringify({ id_token: token })),
      'application/json',
    ];
    const userinfo = (token: string): [Uint8Array, string] => [
      Buffer.from(token),
      'application/jwt; charset=utf-8',
    ];
    const jwe = (alg: unknown): string => `${part({ alg })}.a.b.c.d`;

    it.each<[string, [Uint8Array, string], Unsupported['kind'], string]>([
      ...['HS256', 'HS512'].map(
        (alg) =>
          [
            `an ID token with ${alg}`,
            idToken(jwt(alg)),
            'idTokenSignature',
            `${alg}, whose key is the client secret`,
          ] as [string, [Uint8Array, string], Unsupported['kind'], string],
      ),
      ['an ID token without signature', idToken(jwt('none')), 'idTokenSignature', 'none'],
      ['an encrypted ID token', idToken(jwe('RSA-OAEP')), 'idTokenEncryption', 'a JWE, RSA-OAEP'],
      ['an encrypted one of whatever kind', idToken('a.b.c.d.e'), 'idTokenEncryption', 'a JWE'],
      [
        'userinfo with HS256',
        userinfo(jwt('HS256')),
        'userinfoSignature',
        'HS256, whose key is the client secret',
      ],
      ['encrypted userinfo', userinfo(jwe('dir')), 'userinfoEncryption', 'a JWE, dir'],
    ])('%s', (_name, answer, kind, detail) => {
      expect(() => judgeToken(...answer)).toThrow(lineOf(kind, detail));
    });

    it.each<[string, [Uint8Array, string | undefined]]>([
      ['ES256', idToken(jwt('ES256'))],
      ['what is no text', idToken(7)],
      ['what is no JWT', idToken('x.y.z')],
      ['a header that is no JSON', idToken(`${Buffer.from('[').toString('base64url')}.a.b`)],
      ['an alg that is no name', idToken(jwt('HS256\n'))],
      ['no JSON', [Buffer.from([0xff]), 'application/json']],
      ['nothing', [new Uint8Array(), undefined]],
      ['a million dots', idToken('.'.repeat(60_000))],
    ])('leaves %s to the library', (_name, answer) => expect(() => judgeToken(...answer)).not.toThrow());
  });

  it('is what the documents list, word for word', () => {
    const text = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
    const [, section = ''] = text.split('\n### Not supported\n');
    const rows = section.split('\nWhere ')[0]!.matchAll(/^\| (\S[^|]*?) +\| (\S[^|]*?) +\|/gm);
    const listed = [...rows].map(([, found, change]) => [found, change]).slice(2);
    expect(listed).toEqual(Object.values(UNSUPPORTED).map(({ found, change }) => [found, change]));
  });

  /** A real provider, set in ways that its operators may choose. */
  describe('at a provider', () => {
    // Its document lists them for the clients that want them.
    const OFFERED = { encryption: { enabled: true }, jwtUserinfo: { enabled: true } };
    const ALGORITHMS: OidcIssuer['enabledJWA'] = {
      idTokenSigningAlgValues: ['ES256', 'HS256'],
      userinfoSigningAlgValues: ['ES256', 'HS256'],
      idTokenEncryptionAlgValues: ['dir'],
    };
    let proxy: TamperingProxy;
    let issuer: OidcIssuer;
    let service: TestService;
    beforeAll(async () => {
      proxy = await TamperingProxy.start();
      issuer = await OidcIssuer.start(proxy.url);
      issuer.restart({ features: OFFERED, enabledJWA: ALGORITHMS });
      proxy.target = issuer.port;
      service = await startTestService({
        PROVIDERS_CORP_ADAPTER: 'oidc',
        PROVIDERS_CORP_URL: proxy.url,
        PROVIDERS_CORP_CLIENT_ID: 'latchkey',
        PROVIDERS_CORP_CLIENT_SECRET: SECRET,
        PROVIDERS_AWAY_ADAPTER: 'oidc',
        PROVIDERS_AWAY_URL: 'http://127.0.0.1:1',
        PROVIDERS_AWAY_CLIENT_ID: 'latchkey',
        PROVIDERS_AWAY_REDIRECT_URIS: 'https://away.example/cb',
        PROVIDERS_AWAY_CLIENT_SECRET: SECRET,
        REDIRECT_URIS: 'https://app.example/other',
      });
    });
    afterAll(async () => {
      await service?.close();
      await issuer?.close();
      await proxy?.close();
    });
    afterEach(() => issuer.restart({ client: {}, features: OFFERED, claimsInIdToken: true }));

    const authorize = (): request.Test =>
      request(service.url).get('/oauth2/authorize').query({ provider: 'corp' });

    async function signIn(): Promise<request.Response> {
      const { body } = await authorize().expect(200);
      const callback = await new Person('ada').authorize((body as { redirect_url: string }).redirect_url);
      return request(service.url).post('/oauth2/token').send(Object.fromEntries(callback.searchParams));
    }

    /** The causes that were logged meanwhile. */
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

    it('pushed requests: the start goes on with a warning, sign-ins are refused, and what was changed counts at once', async () => {
      issuer.restart({ features: PUSHED });
      const line = lineOf('pushedRequests', 'require_pushed_authorization_requests: true');
      const warnings: string[] = [];
      await service.app.get(ProviderRegistry).check((warning) => void warnings.push(warning));
      expect(warnings.toSorted()).toEqual([
        expect.stringMatching(/^Provider away cannot be used now: .*ECONNREFUSED/),
        `Provider corp cannot be used now: ${line}`,
      ]);
      const causes = await logged(async () =>
        expect((await authorize().expect(500)).body).toMatchObject({ error: 'server_error' }),
      );
      expect(causes).toContainEqual(
        expect.objectContaining({ message: `provider corp cannot be used: ${line}` }),
      );
      issuer.restart({ features: OFFERED });
      expect((await signIn()).status).toBe(200);
    });

    it.each<[string, Partial<OidcIssuer>, Unsupported['kind'], string]>([
      [
        'ID tokens with HS256',
        { client: { id_token_signed_response_alg: 'HS256' } },
        'idTokenSignature',
        'HS256, whose key is the client secret',
      ],
      [
        'encrypted ID tokens',
        {
          client: {
            id_token_encrypted_response_alg: 'dir',
            id_token_encrypted_response_enc: 'A128CBC-HS256',
          },
        },
        'idTokenEncryption',
        'a JWE, dir',
      ],
      [
        'userinfo with HS256',
        {
          claimsInIdToken: false,
          client: { userinfo_signed_response_alg: 'HS256' },
        },
        'userinfoSignature',
        'HS256, whose key is the client secret',
      ],
    ])('%s', async (_name, settings, kind, detail) => {
      issuer.restart(settings);
      const causes = await logged(async () =>
        expect((await signIn()).body).toMatchObject({ error: 'server_error' }),
      );
      const message = `provider corp cannot be used: ${lineOf(kind, detail)}`;
      expect(causes).toContainEqual(expect.objectContaining({ message }));
    });

    it('… but userinfo that is signed with a key is read', async () => {
      issuer.restart({
        claimsInIdToken: false,
        client: { userinfo_signed_response_alg: 'ES256' },
      });
      expect((await signIn()).status).toBe(200);
    });

    it('a public client is refused by the provider itself: invalid_client', async () => {
      issuer.restart({ client: { token_endpoint_auth_method: 'none', client_secret: undefined } as object });
      expect((await signIn()).body).toMatchObject({ error: 'invalid_client' });
    });
  });
});

function lineOf(kind: Unsupported['kind'], detail: string): string {
  const { found, change } = UNSUPPORTED[kind];
  return `${found} (${detail}), which is not supported; change at the provider: ${change}`;
}
