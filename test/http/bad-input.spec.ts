import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { dump } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { beginSignIn, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const STATE = 'ab'.repeat(32);
const CHALLENGE = 'a'.repeat(43);
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/**
 * Each input gets its error, changes nothing, and is not repeated in the answer
 * (spec §7.1; docs/errors.md#codes-of-the-service).
 */
describe('bad input', () => {
  let provider: StubProvider;
  let service: TestService;
  let refreshToken: string;
  let before: string;

  beforeAll(async () => {
    provider = await StubProvider.start();
    const disabled = { ...provider.env('OFF'), PROVIDERS_OFF_ENABLED: 'false' };
    service = await startTestService({ ...provider.env(), ...disabled });
    ({ refresh_token: refreshToken } = await signIn(service.url));
    await beginSignIn(service.url);
    before = await dump(service.databaseUrl);
    provider.reset();
  });
  afterAll(async () => {
    const after = service && (await dump(service.databaseUrl));
    await service?.close();
    await provider?.close();
    expect(after).toBe(before);
    expect(provider.requests).toHaveLength(0);
  });

  function expectError(response: request.Response, status: number, error: string): void {
    expect([response.status, response.body]).toEqual([
      status,
      { error, error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/) }, // RFC 6749 §5.2
    ]);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.headers['cache-control']).toBe('no-store');
  }

  const post = (path: string, body: object) => request(service.url).post(path).send(body);
  const postRaw = (path: string, headers: Record<string, string>, body: string | Buffer) =>
    request(service.url)
      .post(path)
      .set(headers)
      .serialize((sent: unknown) => sent as string)
      .send(body);

  it.each([
    ['no provider', ''],
    ['an unknown provider', 'provider=nobody'],
    ['a disabled provider', 'provider=off'],
    ['a provider twice', 'provider=stub&provider=stub'],
    ['prototype keys as names', '__proto__[provider]=stub&constructor=stub'],
    ['NUL', 'provider=stub%00'],
    ['bytes that are not UTF-8', 'provider=%FF'],
    ['a redirect URI twice', 'provider=stub&redirect_uri=https://a.example&redirect_uri=https://b.example'],
    ['a challenge without its method', `provider=stub&code_challenge=${CHALLENGE}`],
    ['a method without a challenge', 'provider=stub&code_challenge_method=S256'],
    ['the method plain', `provider=stub&code_challenge=${CHALLENGE}&code_challenge_method=plain`],
    ['a short challenge', `provider=stub&code_challenge=${CHALLENGE.slice(1)}&code_challenge_method=S256`],
  ])('GET /oauth2/authorize: %s', async (_name, query) => {
    const response = await request(service.url).get(`/oauth2/authorize?${query}`);
    expectError(response, 400, 'invalid_request');
    expect(response.text).not.toContain('nobody');
  });

  describe('a redirect URI', () => {
    const LIST = 'https://a.example/cb,http://127.0.0.1:8080/cb,com.example.app:/cb';
    const listed = use(() =>
      startTestService({ ...provider.env(), DEMO_ENABLED: 'false', REDIRECT_URIS: LIST }),
    );

    const authorize = (at: TestService, redirect_uri: string) =>
      request(at.url).get('/oauth2/authorize').query({ provider: 'stub', redirect_uri });

    it.each([
      'JaVaScRiPt:alert(1)',
      'data:text/html,x',
      '/callback',
      '   ',
      'https:a.example',
      'https://user:pw@a.example/cb',
      'https://a.example/cb#',
      'https://a.example\\@evil.example/cb',
      'https://a.example/cb\r\nSet-Cookie: a=b',
      'https://a.example/cb\0',
    ])('%j is refused, with a list and without', async (redirect_uri) => {
      expectError(await authorize(service, redirect_uri), 400, 'invalid_request');
      expectError(await authorize(listed, redirect_uri), 400, 'invalid_request');
    });

    it.each(['/oauth2/token', '/providers/mock/oauth2/authorize', '/x/../providers/mock/callback'])(
      'of the service itself is refused: %s',
      async (path) => expectError(await authorize(service, service.url + path), 400, 'invalid_request'),
    );

    it.each([
      'https://a.example/cb/',
      'https://a.example/cb?',
      'https://a.example:443/cb',
      'https://a.example.evil.example/cb',
      'https://\u0430.example/cb', // a Cyrillic a
      'https://a.example/x/../cb',
      'http://127.0.0.1:8080@evil.example/cb',
      'http://localhost:8080/cb', // another name than the listed one
      'https://127.0.0.1:8080/cb',
      'com.example.app:/cb/x',
    ])('%j is not on the list', async (redirect_uri) => {
      expectError(await authorize(listed, redirect_uri), 400, 'invalid_request');
    });

    it.each(['https://a.example/cb', 'com.example.app:/cb', 'http://127.0.0.1:1/cb', 'http://127.0.0.1/cb'])(
      '%s is on the list, on loopback with any port (RFC 8252 §7.3)',
      async (redirect_uri) => void (await authorize(listed, redirect_uri).expect(200)),
    );
  });

  it.each<[string, Record<string, unknown>]>([
    ['no code', { code: undefined }],
    ['a blank code', { code: ' \t ' }],
    ['a code over 16384 characters', { code: 'c'.repeat(16_385) }],
    ['NUL in the code', { code: 'a\0b' }],
    ['no state', { state: undefined }],
    ['a state that is not hex', { state: 'xy'.repeat(32) }],
    ['a state with a line feed after it', { state: `${STATE}\n` }],
    ['a device id that is not a UUID', { device_id: 'phone' }],
    ['a device id with a line feed after it', { device_id: `${randomUUID()}\n` }],
    ['a device name over 128 characters', { device_name: 'n'.repeat(129) }],
    ['a user agent over 1024 characters', { user_agent: 'u'.repeat(1025) }],
    ['a code verifier that is too short', { code_verifier: 'v'.repeat(42) }],
  ])('POST /oauth2/token, JSON and form: %s', async (_name, change) => {
    const body = JSON.parse(JSON.stringify({ code: 'c', state: STATE, ...change })) as object;
    expectError(await post('/oauth2/token', body), 400, 'invalid_request');
    expectError(await post('/oauth2/token', body).type('form'), 400, 'invalid_request');
  });

  it.each<[string, unknown]>([
    ['an array', ['c']],
    ['an object', { toString: 'c' }],
    ['a number', 1],
    ['a lone surrogate', 'a\ud800'],
  ])('JSON: %s in place of a text', async (_name, value) => {
    for (const name of ['code', 'state', 'device_id', 'device_name', 'user_agent', 'redirect_uri', 'iss'])
      expectError(
        await post('/oauth2/token', { code: 'c', state: STATE, [name]: value }),
        400,
        'invalid_request',
      );
    if (typeof value !== 'string')
      expectError(await post('/oauth2/refresh', { refresh_token: value }), 400, 'invalid_request');
  });

  it.each([
    ['code', `code=a&code=&state=${STATE}`],
    ['state', `code=a&state=${STATE}&state=${STATE}`],
    ['device_name', `code=a&state=${STATE}&device_name=a&device_name=b`],
  ])('a form with a parameter twice: %s', async (_name, body) => {
    expectError(await post('/oauth2/token', {}).type('form').send(body), 400, 'invalid_request');
  });

  it.each<[string, string, number, string]>([
    ['empty', '', 400, 'invalid_request'],
    ['NUL', '\0', 400, 'invalid_request'],
    ['SQL', "' OR 1=1 --", 401, 'invalid_grant'],
    ['a prototype key', '__proto__', 401, 'invalid_grant'],
  ])('a text that is no refresh token: %s', async (_name, refresh_token, status, error) => {
    expectError(await post('/oauth2/refresh', { refresh_token }), status, error);
  });

  it.each<[string, Record<string, string>, string | Buffer, number?]>([
    ['none, of no type', {}, ''],
    ['truncated JSON', { 'Content-Type': JSON_TYPE }, '{"refresh_token":"a'],
    ['an array', { 'Content-Type': JSON_TYPE }, '[{"refresh_token":"a"}]'],
    ['prototype keys', { 'Content-Type': JSON_TYPE }, '{"__proto__":{"refresh_token":"a"}}'],
    ['plain text', { 'Content-Type': 'text/plain' }, 'refresh_token=a'],
    ['no gzip', { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' }, '{}', 415],
    ['JSON over 20 KiB', { 'Content-Type': JSON_TYPE }, `{"refresh_token":"${'x'.repeat(20_480)}"}`, 413],
    ['a form over 20 KiB', { 'Content-Type': FORM_TYPE }, `refresh_token=${'x'.repeat(20_480)}`, 413],
    ['251 values', { 'Content-Type': JSON_TYPE }, JSON.stringify({ a: Array(250).fill(1) })],
    [
      'a gzip bomb',
      { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' },
      gzipSync(Buffer.alloc(1e7, ' ')),
      415,
    ],
  ])('a body: %s', async (_name, headers, body, status = 400) => {
    const errors = new Map([
      [413, 'payload_too_large'],
      [415, 'unsupported_media_type'],
    ]);
    const error = errors.get(status) ?? 'invalid_request';
    expectError(await postRaw('/oauth2/refresh', headers, body), status, error);
  });

  it('a body that ends too early leaves the service as it was', async () => {
    const head = `POST /oauth2/refresh HTTP/1.1\r\nHost: a\r\nContent-Type: ${JSON_TYPE}\r\n`;
    await exchangeRaw(`${head}Content-Length: 99\r\n\r\n{"a"`, true);
    await request(service.url).get('/health/live').expect(200);
  });

  const refreshHead = 'POST /oauth2/refresh HTTP/1.1\r\nHost: a\r\n';
  it.each([
    ['no request at all', 'hello\r\n\r\n'],
    ['conflicting lengths', `${refreshHead}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['length and chunks', `${refreshHead}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`],
    ['headers over 16 KiB', `GET /health/live HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`],
    [
      'an unknown expectation',
      `${refreshHead}Expect: magic\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    ],
    ['a path that cannot be decoded', 'GET /oauth2/%FF HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ])('not allowed by HTTP itself: %s', async (_name, raw) => {
    const answer = await exchangeRaw(raw);
    expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(answer.toLowerCase()).toContain('content-type: application/json; charset=utf-8');
    expect(answer).toMatch(/\{"error":"(invalid_request|not_found)","error_description":"[^"]+"\}$/);
  });

  const own = { code: 'c', state: STATE }; // of the specification's flow, with an unknown state
  it.each<[string, object, number, string]>([
    ['unknown', { grant_type: 'client_credentials' }, 400, 'unsupported_grant_type'],
    ['in upper case', { grant_type: 'REFRESH_TOKEN', refresh_token: 'y' }, 400, 'unsupported_grant_type'],
    ['a list', { grant_type: ['refresh_token', 'x'], refresh_token: 'y' }, 400, 'invalid_request'],
    ['left out', { refresh_token: 'y' }, 400, 'invalid_request'],
    ['empty', { grant_type: '', refresh_token: 'y' }, 400, 'invalid_request'],
    ['without a state', { grant_type: 'authorization_code', code: 'c' }, 400, 'invalid_request'],
    ['without a refresh token', { grant_type: 'refresh_token' }, 400, 'invalid_request'],
    ['with an unknown token', { grant_type: 'refresh_token', refresh_token: 'y' }, 401, 'invalid_grant'],
    ['ignored beside code and state', { ...own, grant_type: 'x' }, 401, 'invalid_grant'],
  ])('grant_type at POST /oauth2/token: %s', async (_name, body, status, error) => {
    expectError(await post('/oauth2/token', body), status, error);
    const isForm = Object.values(body).every((value) => typeof value === 'string');
    if (isForm) expectError(await post('/oauth2/token', body).type('form'), status, error);
  });

  it('grant_type refresh_token with a good token, beside code and state: code and state count', async () => {
    const body = { ...own, grant_type: 'refresh_token', refresh_token: refreshToken };
    expectError(await post('/oauth2/token', body), 401, 'invalid_grant');
  });

  it('unknown members, and an Authorization header, are ignored on the public endpoints', async () => {
    const body = { refresh_token: 'unknown', grant_type: 'x', client_id: 7, nested: { a: [] } };
    const response = await post('/oauth2/refresh', body).set('Authorization', 'Bearer nonsense');
    expectError(response, 401, 'invalid_grant');
  });

  /** Sends bytes. @returns what comes back until the service closes the connection */
  function exchangeRaw(raw: string, hangUp = false): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
      let answer = '';
      socket.on('data', (chunk) => (answer += chunk.toString()));
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
      socket.write(raw);
      if (hangUp) socket.end();
    });
  }
});
