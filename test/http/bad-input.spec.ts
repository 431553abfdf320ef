import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { dump, query as sql } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { beginSignIn, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

const STATE = 'ab'.repeat(32);
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** security.md, "Parameters" and "Redirect URIs": the contract's error, and nothing is changed. */
describe('bad input', () => {
  let provider: StubProvider;
  let service: TestService;
  let refreshToken: string;
  let before: string;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), PROVIDERS_OFF_ENABLED: 'false', ...off(provider) });
    ({ refresh_token: refreshToken } = await signIn(service.url));
    await beginSignIn(service.url);
    before = await dump(service.databaseUrl);
    provider.reset();
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });
  afterEach(async () => {
    expect(await dump(service.databaseUrl)).toBe(before);
    expect(provider.requests).toHaveLength(0);
  });

  function expectError(response: request.Response, status: number, error: string, input?: string): void {
    expect([response.status, response.body]).toEqual([
      status,
      { error, error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/) }, // RFC 6749 §5.2
    ]);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.headers['cache-control']).toBe('no-store');
    if (input) expect(response.text).not.toContain(input);
  }

  describe('the query of GET /oauth2/authorize', () => {
    it.each([
      ['no provider', ''],
      ['an empty provider', 'provider='],
      ['a blank provider', 'provider=%20%20'],
      ['an unknown provider', 'provider=nobody'],
      ['a disabled provider', 'provider=off'],
      ['a provider twice', 'provider=stub&provider=stub'],
      ['a provider as an array', 'provider[]=stub'],
      ['a provider as an object', 'provider[a]=stub'],
      ['a prototype key as the provider', 'provider=__proto__'],
      ['another prototype key', 'provider=constructor'],
      ['prototype keys as names', '__proto__[provider]=stub&constructor=stub'],
      ['NUL', 'provider=stub%00'],
      ['bytes that are not UTF-8', 'provider=%FF'],
      ['10 kB of text', `provider=${'x'.repeat(10_000)}`],
      ['a redirect URI twice', 'provider=stub&redirect_uri=https://a.example&redirect_uri=https://b.example'],
      ['a challenge without its method', `provider=stub&code_challenge=${'a'.repeat(43)}`],
      ['a method without a challenge', 'provider=stub&code_challenge_method=S256'],
      ['the method plain', `provider=stub&code_challenge=${'a'.repeat(43)}&code_challenge_method=plain`],
      [
        'a challenge of another length',
        `provider=stub&code_challenge=${'a'.repeat(42)}&code_challenge_method=S256`,
      ],
      [
        'a challenge twice',
        `provider=stub&${`code_challenge=${'a'.repeat(43)}&`.repeat(2)}code_challenge_method=S256`,
      ],
    ])('%s', async (_name, query) => {
      expectError(
        await request(service.url).get(`/oauth2/authorize?${query}`),
        400,
        'invalid_request',
        'nobody',
      );
    });
  });

  describe('the redirect URI', () => {
    const REJECTED = [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:https://a.example/1',
      'about:blank',
      '//evil.example/cb',
      '/callback',
      'callback',
      '   ',
      'https:',
      'https://',
      'https:///a.example',
      'https:a.example',
      'https://user@a.example/cb',
      'https://user:pw@a.example/cb',
      'https://a.example/cb#fragment',
      'https://a.example/cb#',
      'https://a.example\\@evil.example/cb',
      'https:\\\\a.example\\cb',
      'https://a.example/cb\r\nSet-Cookie: a=b',
      'https://a.example/\tcb',
      ' https://a.example/cb',
      'https://a.example/c b',
      'https://a.example/cb\0',
      'ftp://a.example/cb',
    ];

    it.each(['/oauth2/token', '/providers/mock/oauth2/authorize', '/x/../providers/mock/callback'])(
      'of the service itself: %s, and nothing is kept of it (contract §4)',
      async (path) => {
        const kept = (): Promise<unknown[]> =>
          sql(service.databaseUrl, 'SELECT count(*) FROM authorization_states');
        const keptBefore = await kept();
        const response = await request(service.url)
          .get('/oauth2/authorize')
          .query({ provider: 'stub', redirect_uri: service.url + path });
        expectError(response, 400, 'invalid_request');
        expect(await kept()).toEqual(keptBefore);
      },
    );

    it.each(REJECTED)('%j without a list', async (redirect_uri) => {
      const response = await request(service.url)
        .get('/oauth2/authorize')
        .query({ provider: 'stub', redirect_uri });
      expectError(response, 400, 'invalid_request');
    });

    describe('with a list', () => {
      let listed: TestService;
      beforeAll(async () => {
        listed = await startTestService({
          ...provider.env(),
          DEMO_ENABLED: 'false',
          REDIRECT_URIS: 'https://a.example/cb,http://127.0.0.1:8080/cb,com.example.app:/cb',
        });
      });
      afterAll(() => listed?.close());

      it.each([
        ...REJECTED,
        'https://a.example/cb/',
        'https://a.example/CB',
        'https://a.example/cb?x=1',
        'https://a.example/cb?',
        'https://a.example/cb%20',
        'https://a.example/cb ',
        'https://a.example:443/cb',
        'https://a.example./cb',
        'https://a.example.evil.example/cb',
        'https://a.example@evil.example/cb',
        'https://evil.example/https://a.example/cb',
        'https://A.example/cb',
        'https://\u0430.example/cb', // a Cyrillic a
        'http://a.example/cb',
        'https://a.example/x/../cb',
        'http://127.0.0.1:8080@evil.example/cb',
        'http://127.0.0.1:8080.evil.example/cb',
        'http://127.0.0.1.evil.example:8080/cb',
        'http://127.0.0.1:99999/cb',
        'http://localhost:8080/cb', // another name than the listed one
        'https://127.0.0.1:8080/cb',
        'com.example.app:/cb/x',
        'com.example.app:/cb ',
      ])('%j', async (redirect_uri) => {
        const response = await request(listed.url)
          .get('/oauth2/authorize')
          .query({ provider: 'stub', redirect_uri });
        expectError(response, 400, 'invalid_request');
      });

      it.each([
        'https://a.example/cb',
        'com.example.app:/cb',
        'http://127.0.0.1:8080/cb',
        'http://127.0.0.1:1/cb', // RFC 8252 §7.3: any port
        'http://127.0.0.1/cb',
      ])('accepts %s', async (redirect_uri) => {
        await request(listed.url)
          .get('/oauth2/authorize')
          .query({ provider: 'stub', redirect_uri })
          .expect(200);
      });
    });
  });

  describe.each([
    ['JSON', JSON_TYPE, (body: object) => JSON.stringify(body)],
    ['a form', FORM_TYPE, (body: object) => new URLSearchParams(body as Record<string, string>).toString()],
  ])('the fields of POST /oauth2/token, sent as %s', (_type, type, encode) => {
    it.each<[string, Record<string, unknown>]>([
      ['no code', { state: STATE }],
      ['an empty code', { code: '', state: STATE }],
      ['a blank code', { code: ' \t ', state: STATE }],
      ['a code over 16384 characters', { code: 'c'.repeat(16_385), state: STATE }],
      ['NUL in the code', { code: 'a\0b', state: STATE }],
      ['no state', { code: 'c' }],
      ['an empty state', { code: 'c', state: '' }],
      ['a state that is too short', { code: 'c', state: 'ab' }],
      ['a state that is too long', { code: 'c', state: `${STATE}ab` }],
      ['a state that is not hex', { code: 'c', state: 'xy'.repeat(32) }],
      ['a state with a line feed after it', { code: 'c', state: `${STATE}\n` }],
      ['a device id that is not a UUID', { code: 'c', state: STATE, device_id: 'phone' }],
      ['a device id in braces', { code: 'c', state: STATE, device_id: `{${randomUUID()}}` }],
      [
        'a device id without dashes',
        { code: 'c', state: STATE, device_id: randomUUID().replaceAll('-', '') },
      ],
      ['a device id with a line feed after it', { code: 'c', state: STATE, device_id: `${randomUUID()}\n` }],
      ['a device name over 128 characters', { code: 'c', state: STATE, device_name: 'n'.repeat(129) }],
      ['NUL in the device name', { code: 'c', state: STATE, device_name: 'a\0' }],
      ['a user agent over 1024 characters', { code: 'c', state: STATE, user_agent: 'u'.repeat(1025) }],
      ['a code verifier that is too short', { code: 'c', state: STATE, code_verifier: 'v'.repeat(42) }],
      ['a code verifier with a space', { code: 'c', state: STATE, code_verifier: `${'v'.repeat(43)} ` }],
      ['prototype keys only', { __proto__x: 'c', constructor: 'c', state: STATE }],
    ])('%s', async (_name, body) => {
      const response = await request(service.url).post('/oauth2/token').type(type).send(encode(body));
      expectError(response, 400, 'invalid_request');
    });
  });

  describe('values of another type in JSON', () => {
    it.each<[string, unknown]>([
      ['an array', ['c']],
      ['an array of two', ['c', 'd']],
      ['an object', { toString: 'c' }],
      ['a number', 1],
      ['true', true],
      ['null', null],
    ])('%s as the code, the state, the refresh token', async (_name, value) => {
      expectError(await post('/oauth2/token', { code: value, state: STATE }), 400, 'invalid_request');
      expectError(await post('/oauth2/token', { code: 'c', state: value }), 400, 'invalid_request');
      expectError(await post('/oauth2/refresh', { refresh_token: value }), 400, 'invalid_request');
    });

    it.each<[string, unknown]>([
      ['an array', ['a']],
      ['an object', { a: 1 }],
      ['a number', 7],
      ['false', false],
    ])('%s as an optional field', async (_name, value) => {
      for (const name of ['device_id', 'device_name', 'user_agent', 'redirect_uri', 'code_verifier', 'iss']) {
        expectError(
          await post('/oauth2/token', { code: 'c', state: STATE, [name]: value }),
          400,
          'invalid_request',
        );
      }
    });

    it('lone surrogates', async () => {
      for (const body of [
        `{"code":"a\\ud800","state":"${STATE}"}`,
        `{"code":"c","state":"${STATE}","device_name":"\\udc00"}`,
        `{"code":"c","state":"${STATE}","user_agent":"\\ud83d"}`,
      ]) {
        const response = await request(service.url).post('/oauth2/token').type(JSON_TYPE).send(body);
        expectError(response, 400, 'invalid_request');
      }
    });
  });

  describe('fields that come twice in a form', () => {
    it.each([
      ['code', `code=a&code=b&state=${STATE}`],
      ['code, once empty', `code=a&code=&state=${STATE}`],
      ['state', `code=a&state=${STATE}&state=${STATE}`],
      ['device_name', `code=a&state=${STATE}&device_name=a&device_name=b`],
      ['code as an array', `code[]=a&state=${STATE}`],
      ['code as an object', `code[x]=a&state=${STATE}`],
    ])('%s', async (_name, body) => {
      expectError(
        await request(service.url).post('/oauth2/token').type(FORM_TYPE).send(body),
        400,
        'invalid_request',
      );
    });

    it('refresh_token', async () => {
      const body = `refresh_token=${refreshToken}&refresh_token=${refreshToken}`;
      expectError(
        await request(service.url).post('/oauth2/refresh').type(FORM_TYPE).send(body),
        400,
        'invalid_request',
      );
    });
  });

  describe('texts that are not refresh tokens', () => {
    it.each<[string, object, number, string]>([
      ['missing', {}, 400, 'invalid_request'],
      ['empty', { refresh_token: '' }, 400, 'invalid_request'],
      ['blank', { refresh_token: '  ' }, 400, 'invalid_request'],
      ['NUL', { refresh_token: '\0' }, 400, 'invalid_request'],
      ['anything else', { refresh_token: 'x' }, 401, 'invalid_grant'],
      ['SQL', { refresh_token: "' OR 1=1 --" }, 401, 'invalid_grant'],
      ['10 kB', { refresh_token: 'x'.repeat(10_000) }, 401, 'invalid_grant'],
      ['a prototype key', { refresh_token: '__proto__' }, 401, 'invalid_grant'],
    ])('%s', async (_name, body, status, error) => {
      expectError(await post('/oauth2/refresh', body), status, error);
    });
  });

  describe('bodies', () => {
    const at = '/oauth2/refresh';
    it.each<[string, string, string | Buffer, Record<string, string>]>([
      ['none, of no type', '', '', {}],
      ['empty JSON', JSON_TYPE, '', {}],
      ['an empty form', FORM_TYPE, '', {}],
      ['truncated JSON', JSON_TYPE, '{"refresh_token":"a', {}],
      ['null', JSON_TYPE, 'null', {}],
      ['a string', JSON_TYPE, '"refresh_token"', {}],
      ['a number', JSON_TYPE, '1', {}],
      ['an array', JSON_TYPE, '[{"refresh_token":"a"}]', {}],
      ['an array of nothing', JSON_TYPE, '[]', {}],
      ['no JSON at all', JSON_TYPE, '<xml/>', {}],
      ['deep JSON', JSON_TYPE, `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, {}],
      [
        'prototype keys',
        JSON_TYPE,
        '{"__proto__":{"refresh_token":"a"},"constructor":{"refresh_token":"b"}}',
        {},
      ],
      ['plain text', 'text/plain', 'refresh_token=a', {}],
      ['multipart', 'multipart/form-data; boundary=x', '--x--', {}],
      ['XML', 'application/xml', '<a/>', {}],
      ['an unknown charset', 'application/json; charset=klingon', '{"refresh_token":"a"}', {}],
      ['an unknown encoding', JSON_TYPE, '{"refresh_token":"a"}', { 'Content-Encoding': 'zip' }],
      ['a body that is not gzip', JSON_TYPE, '{"refresh_token":"a"}', { 'Content-Encoding': 'gzip' }],
      ['a form of too many parameters', FORM_TYPE, 'a&'.repeat(2000), {}],
    ])('%s', async (_name, type, body, headers) => {
      let call = request(service.url).post(at).set(headers);
      if (type) call = call.set('Content-Type', type);
      expectError(await call.send(body).serialize((sent: unknown) => sent as string), 400, 'invalid_request');
    });

    it.each<[string, string | Buffer, Record<string, string>]>([
      ['JSON over 64 KiB', JSON.stringify({ refresh_token: 'x'.repeat(65_536) }), {}],
      ['a gzip bomb', gzipSync(Buffer.alloc(10_000_000, ' ')), { 'Content-Encoding': 'gzip' }],
    ])('%s', async (_name, body, headers) => {
      const call = request(service.url)
        .post(at)
        .set({ 'Content-Type': JSON_TYPE, ...headers });
      expectError(
        await call.send(body).serialize((sent: unknown) => sent as string),
        413,
        'payload_too_large',
      );
    });

    it('a form over 64 KiB', async () => {
      const call = request(service.url).post(at).type(FORM_TYPE);
      expectError(await call.send(`refresh_token=${'x'.repeat(65_536)}`), 413, 'payload_too_large');
    });

    it('a body that ends too early leaves the service as it was', async () => {
      await exchangeRaw(
        `POST ${at} HTTP/1.1\r\nHost: a\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: 99\r\n\r\n{"a"`,
        true,
      );
      await request(service.url).get('/health/live').expect(200);
    });
  });

  describe('requests that HTTP itself does not allow', () => {
    it.each([
      ['no request at all', 'hello\r\n\r\n'],
      [
        'conflicting lengths',
        'POST /oauth2/refresh HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      ],
      [
        'length and chunks',
        'POST /oauth2/refresh HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
      ],
      ['headers over 16 KiB', `GET /health/live HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`],
      [
        'an unknown expectation',
        'POST /oauth2/refresh HTTP/1.1\r\nHost: a\r\nExpect: magic\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      ],
      ['a path that cannot be decoded', 'GET /oauth2/%FF HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ])('%s', async (_name, raw) => {
      const answer = await exchangeRaw(raw);
      expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
      expect(answer.toLowerCase()).toContain('content-type: application/json; charset=utf-8');
      expect(answer).toMatch(/\{"error":"(invalid_request|not_found)","error_description":"[^"]+"\}$/);
    });
  });

  describe('grant_type at POST /oauth2/token (contract §3)', () => {
    const spec = { code: 'c', state: STATE }; // the specification's own: the state is unknown
    it.each<[string, object, number, string]>([
      ['unknown', { grant_type: 'client_credentials' }, 400, 'unsupported_grant_type'],
      ['unknown, with a code alone', { grant_type: 'x', code: 'c' }, 400, 'unsupported_grant_type'],
      [
        'unknown, with an empty state',
        { ...spec, grant_type: 'x', state: '' },
        400,
        'unsupported_grant_type',
      ],
      [
        'unknown, with a refresh token',
        { grant_type: 'x', refresh_token: 'y' },
        400,
        'unsupported_grant_type',
      ],
      ['in upper case', { grant_type: 'REFRESH_TOKEN', refresh_token: 'y' }, 400, 'unsupported_grant_type'],
      ['of the prototype', { grant_type: 'constructor' }, 400, 'unsupported_grant_type'],
      ['twice', { grant_type: ['refresh_token', 'x'], refresh_token: 'y' }, 400, 'invalid_request'],
      ['an object', { grant_type: { a: 1 } }, 400, 'invalid_request'],
      ['left out', { refresh_token: 'y' }, 400, 'invalid_request'],
      ['empty', { grant_type: '', refresh_token: 'y' }, 400, 'invalid_request'],
      ['null', { grant_type: null, refresh_token: 'y' }, 400, 'invalid_request'],
      [
        'authorization_code, without a state',
        { grant_type: 'authorization_code', code: 'c' },
        400,
        'invalid_request',
      ],
      ['refresh_token, without one', { grant_type: 'refresh_token' }, 400, 'invalid_request'],
      [
        'refresh_token, with a blank one',
        { grant_type: 'refresh_token', refresh_token: ' ' },
        400,
        'invalid_request',
      ],
      [
        'refresh_token, with a list',
        { grant_type: 'refresh_token', refresh_token: ['y'] },
        400,
        'invalid_request',
      ],
      [
        'refresh_token, with an unknown one',
        { grant_type: 'refresh_token', refresh_token: 'y' },
        401,
        'invalid_grant',
      ],
      ['anything beside code and state', { ...spec, grant_type: 'x' }, 401, 'invalid_grant'],
      ['a list beside code and state', { ...spec, grant_type: ['x'] }, 401, 'invalid_grant'],
    ])('%s', async (_name, body, status, error) => {
      expectError(await post('/oauth2/token', body), status, error);
      const isForm = Object.values(body).every((value) => typeof value === 'string');
      if (!isForm) return;
      const form = await request(service.url).post('/oauth2/token').type(FORM_TYPE).send(body);
      expectError(form, status, error);
    });

    it('refresh_token beside code and state, with a good one: code and state are meant', async () => {
      const body = { ...spec, grant_type: 'refresh_token', refresh_token: refreshToken };
      expectError(await post('/oauth2/token', body), 401, 'invalid_grant');
    });
  });

  it('unknown members, and an Authorization header, are ignored on the public endpoints', async () => {
    const response = await request(service.url)
      .post('/oauth2/refresh')
      .set('Authorization', 'Bearer nonsense')
      .send({ refresh_token: 'unknown', grant_type: 'x', client_id: 7, nested: { a: [] } });
    expectError(response, 401, 'invalid_grant');
  });

  async function post(path: string, body: object): Promise<request.Response> {
    return request(service.url).post(path).send(body);
  }

  /** Sends bytes as they are; returns everything that comes back until the service closes the connection. */
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

function off(provider: StubProvider): Record<string, string> {
  return provider.env('OFF');
}
