import * as client from 'openid-client';
import { OpenIdStub, type Said } from '../../../test/support/openid-stub.js';
import type { ProviderSettings } from '../../config/providers/provider-settings.js';
import { askedOf, ProviderRefusal } from '../transport/provider-answer.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { configure, discover, fetchKeys } from './oidc-client.js';
import { Unsupported } from './unsupported.js';

const DOCUMENT = '/.well-known/openid-configuration';

/** What openid-client is given, and what it is kept from (contract §6). */
describe('openid-client', () => {
  let stub: OpenIdStub;
  let http: ProviderHttp;
  beforeAll(async () => {
    stub = await OpenIdStub.start();
    http = new ProviderHttp();
  });
  afterAll(async () => {
    await http?.onApplicationShutdown();
    await stub?.close();
  });
  beforeEach(() => stub.reset());

  const failure = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => Promise.reject(new Error('it did not fail')),
      (error: unknown) => error as Error,
    );

  /** All messages of an error and its causes. */
  function words(error: unknown): string {
    return error instanceof Error ? `${error.message} ${words(error.cause)}` : '';
  }

  describe('discovers a provider', () => {
    it.each(['', '/'])('by its issuer, whether or not that ends with a slash: "%s"', async (slash) => {
      stub.metadata = { issuer: stub.url + slash };
      expect(await discover(http, stub.settings())).toMatchObject({
        issuer: stub.url + slash,
        token_endpoint: `${stub.url}/token`,
      });
      expect(stub.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([`GET ${DOCUMENT}`]);
    });

    it('below a path', async () => {
      const url = `${stub.url}/realms/a`;
      stub.said = { [`/realms/a${DOCUMENT}`]: [200, JSON.stringify({ issuer: url })] };
      expect(await discover(http, stub.settings({ url }))).toMatchObject({ issuer: url });
    });

    it('at https', async () => {
      const url = 'https://id.example';
      const document = {
        status: 200,
        contentType: 'application/json',
        body: Buffer.from(`{"issuer":"${url}"}`),
      };
      const asked: string[] = [];
      const https = {
        send: (request: { url: string }) => {
          asked.push(request.url);
          return Promise.resolve(document);
        },
      } as unknown as ProviderHttp;
      expect(await discover(https, stub.settings({ url }))).toMatchObject({ issuer: url });
      expect(asked).toEqual([url + DOCUMENT]);
    });

    // OpenID Connect Discovery §4.3: it could speak for anybody.
    it.each([
      ['https://other.example', 'https://other.example'],
      ['HTTPS://OTHER.example', 'HTTPS://OTHER.example'],
      ['http://a/b', 'http://a/b'],
      [`https://${'a'.repeat(200)}`, `https://${'a'.repeat(200)}`],
      [`https://${'a'.repeat(201)}`, 'which is no address'],
      ['https://', 'which is no address'],
      ['javascript:https://a', 'which is no address'],
      ['ftp://a', 'which is no address'],
      ['https://a b', 'which is no address'],
      ['https://a\u001b[1m', 'which is no address'],
    ])('but not one that names another issuer: %s', async (issuer, named) => {
      stub.metadata = { issuer };
      const error = await failure(discover(http, stub.settings()));
      expect(error).toBeInstanceOf(Unsupported);
      expect(error).toMatchObject({ kind: 'issuer', message: expect.stringContaining(`(${named})`) });
    });

    it.each(['//', '/x', '/%2F'])('but not one whose issuer has "%s" at its end', async (more) => {
      stub.metadata = { issuer: stub.url + more };
      expect(await failure(discover(http, stub.settings()))).toBeInstanceOf(Unsupported);
    });

    it.each<[string, Said]>([
      ['an error', [500, '{}']],
      ['no JSON', [200, '<html>', { 'Content-Type': 'application/json' }]],
      ['a redirect', [302, '', { Location: '/other' }]],
    ])('but not one that answers with %s', async (_name, said) => {
      stub.said = { [DOCUMENT]: said };
      await failure(discover(http, stub.settings()));
      expect(stub.paths).toEqual([DOCUMENT]);
    });
  });

  describe('is given the keys for what it does not verify', () => {
    const keysOf = (metadata: object, url = stub.url): Promise<unknown> =>
      fetchKeys(http, stub.settings({ url }), metadata as client.ServerMetadata);

    it('as the provider publishes them', async () => {
      const { d: _private, ...key } = stub.key.jwk;
      expect(await keysOf({ jwks_uri: `${stub.url}/jwks` })).toEqual({ keys: [key] });
      const [{ method, rawHeaders }] = stub.requests as [(typeof stub.requests)[0]];
      expect([method, rawHeaders]).toEqual(['GET', expect.arrayContaining(['Accept', 'application/json'])]);
    });

    it('as a slow provider publishes them', async () => {
      stub.seen = (_request, raw) => {
        setTimeout(() => raw.socket.end(answer('{"keys":[]}')), 300);
        return false;
      };
      expect(await keysOf({ jwks_uri: `${stub.url}/jwks` })).toEqual({ keys: [] });
    });

    it.each<[string, object, string, string?]>([
      ['that publishes none', {}, 'the discovery document names no jwks_uri'],
      [
        'at https whose keys are at http',
        { jwks_uri: 'http://127.0.0.1:1' },
        'the jwks_uri is not https',
        'https://id.example',
      ],
      [
        'without an address whose keys are at http',
        { jwks_uri: 'http://127.0.0.1:1' },
        'the jwks_uri is not https',
        '',
      ],
      [
        'at https whose keys are nearly at https',
        { jwks_uri: 'nothttps://127.0.0.1:1' },
        'the jwks_uri is not https',
        'https://id.example',
      ],
    ])('but not of one %s', async (_name, metadata, message, url = stub.url) => {
      const settings = stub.settings();
      const { url: _, ...without } = settings;
      const provider = (url === '' ? without : { ...settings, url }) as ProviderSettings;
      const work = fetchKeys(http, provider, metadata as client.ServerMetadata);
      expect((await failure(work)).message).toBe(message);
    });

    it('of one at https, in whatever case', async () => {
      const port = new URL(stub.url).port;
      const error = await failure(keysOf({ jwks_uri: `HTTPS://127.0.0.1:${port}` }, 'https://id.example'));
      expect(error.message).not.toContain('is not https'); // it is asked, and speaks no TLS
    });

    it.each([204, 302, 404, 500])('but not of one that answers with status %i', async (status) => {
      stub.said = { '/jwks': [status, '{"keys":[]}'] };
      const error = await failure(keysOf({ jwks_uri: `${stub.url}/jwks` }));
      expect(error.message).toBe(`the jwks_uri answered with status ${status}`);
    });
  });

  describe('is configured for a sign-in', () => {
    const grant = async (
      more: Partial<ProviderSettings> = {},
      metadata: object = {},
      signal?: AbortSignal,
    ): Promise<client.TokenEndpointResponse & client.TokenEndpointResponseHelpers> => {
      const document = { ...(await discover(http, stub.settings())), ...metadata };
      const configuration = configure(http, stub.settings(more), document, signal);
      return client.genericGrantRequest(configuration, 'authorization_code', { code: 'c' });
    };
    const tokenRequest = () => stub.requests.find(({ path }) => path === '/token')!;

    // The form where the provider takes it (contract §6); Basic is the default of OpenID Connect Discovery §3.
    it.each<[unknown, boolean]>([
      [undefined, false],
      [['client_secret_basic'], false],
      [['client_secret_post'], true],
      [['client_secret_basic', 'client_secret_post'], true],
      [[], false],
    ])('to send the secret as a provider of %j takes it', async (methods, inForm) => {
      stub.metadata = { token_endpoint_auth_methods_supported: methods };
      await grant();
      expect(new URLSearchParams(tokenRequest().body).get('client_secret')).toBe(
        inForm ? 'a client secret' : null,
      );
      expect(tokenRequest().rawHeaders.some((value) => value.startsWith('Basic '))).toBe(!inForm);
    });

    it('to send it as the settings say', async () => {
      await grant({ options: { token_endpoint_auth_method: 'client_secret_post' } });
      expect(new URLSearchParams(tokenRequest().body).get('client_secret')).toBe('a client secret');
    });

    it('to verify the signature of an ID token, with keys that are fetched each time', async () => {
      await grant();
      await grant();
      expect(stub.paths.filter((path) => path === '/jwks')).toHaveLength(2);
      const [head, body] = stub.idToken().split('.');
      stub.token = { id_token: `${head}.${body}.${Buffer.alloc(64, 1).toString('base64url')}` };
      expect(words(await failure(grant()))).toContain('JWT signature verification failed');
    });

    it('to send no secret over http where the issuer is https', async () => {
      await expect(grant({ url: 'https://id.example' })).rejects.toThrow(
        /only requests to HTTPS are allowed/,
      );
      expect(stub.paths).not.toContain('/token');
    });

    it('to end when the time of the sign-in is over', async () => {
      const controller = new AbortController();
      stub.seen = ({ path }) => {
        if (path !== '/token') return true;
        controller.abort();
        return false;
      };
      const began = performance.now();
      expect(words(await failure(grant({}, {}, controller.signal)))).toContain('canceled');
      expect(performance.now() - began).toBeLessThan(3000); // and not after the 5 s of a discovery
    });

    // contract §3: an error is known by its code, whatever its status and its type.
    it.each<[string, Said]>([
      ['status 400', [400, '{"error":"invalid_grant"}']],
      ['status 200', [200, '{"error":"invalid_grant"}']],
      ['status 500', [500, '{"error":"invalid_grant"}']],
      ['another type', [400, '{"error":"invalid_grant"}', { 'Content-Type': 'text/html' }]],
      ['no type', [400, '{"error":"invalid_grant"}', {}]],
      ['a challenge', [401, '{"error":"invalid_grant"}', { 'WWW-Authenticate': 'Basic realm="x"' }]],
    ])('to know an error with %s by its code', async (_name, said) => {
      stub.said = { '/token': said };
      const error = await failure(grant());
      expect(refusalIn(error)).toMatchObject({
        error: 'invalid_grant',
        asked: { url: `${stub.url}/token`, status: said[0], error: 'invalid_grant' },
      });
    });

    it.each<[string, Said]>([
      ['that is no JSON', [200, '<html>', { 'Content-Type': 'application/json' }]],
      ['with an error that is no code', [500, '{"error":7}', { 'Content-Type': 'application/json' }]],
      ['that is a list', [200, '[]', { 'Content-Type': 'application/json' }]],
    ])('to refuse an answer %s', async (_name, said) => {
      stub.said = { '/token': said };
      const error = await failure(grant());
      expect(askedOf(error)).toMatchObject({ url: `${stub.url}/token`, status: said[0] });
      expect(['invalid_grant', 'invalid_client', 'invalid_request']).not.toContain(refusalIn(error)?.error);
    });

    it('to say the status if there is no error', async () => {
      stub.said = { '/token': [503, '{}'] };
      const error = await failure(grant());
      expect(askedOf(error)).toEqual({ url: `${stub.url}/token`, status: 503 });
      expect(refusalIn(error)).toBeUndefined();
    });

    it.each(['text/html', 'application/jwt', undefined])('to take JSON of the type %s', async (type) => {
      const body = JSON.stringify({ access_token: 't', id_token: stub.idToken() });
      stub.said = { '/token': [200, body, type === undefined ? {} : { 'Content-Type': type }] };
      expect((await grant()).claims()).toMatchObject({ sub: 'ada' });
    });

    it('to say what cannot be verified, instead of what the library says of it', async () => {
      stub.token = { id_token: 'e30.a.b.c.d' };
      const error = await failure(grant());
      expect([error, error.cause].some((one) => one instanceof Unsupported)).toBe(true);
    });

    it('to read userinfo that is a JWT by its type', async () => {
      const metadata = {
        ...(await discover(http, stub.settings())),
        userinfo_signing_alg_values_supported: ['ES256'],
      };
      const configuration = configure(http, stub.settings(), metadata);
      stub.claims = { nickname: 'Ada' };
      stub.said = { '/me': [200, stub.idToken(), { 'Content-Type': 'application/jwt' }] };
      expect(await client.fetchUserInfo(configuration, 't', 'ada')).toMatchObject({ nickname: 'Ada' });
    });

    it('to say the same of userinfo, which is a JWT by its type', async () => {
      const configuration = configure(http, stub.settings(), await discover(http, stub.settings()));
      stub.said = { '/me': [200, 'e30.a.b.c.d', { 'Content-Type': 'application/jwt' }] };
      const error = await failure(client.fetchUserInfo(configuration, 't', 'ada'));
      expect([error, error.cause].some((one) => one instanceof Unsupported)).toBe(true);
    });
  });
});

/** The refusal of a provider among an error and its causes. */
function refusalIn(error: unknown): ProviderRefusal | undefined {
  if (!(error instanceof Error)) return undefined;
  return error instanceof ProviderRefusal ? error : refusalIn(error.cause);
}

function answer(body: string): string {
  return `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
