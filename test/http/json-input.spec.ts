import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { dump, query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';

/** Contract §3, input: the OAuth endpoints are lenient; all others take JSON exactly as it was sent. */
describe('input', () => {
  let provider: StubProvider;
  let service: TestService;
  let tokens: Tokens;
  let device: string;
  let socket: SocketClient;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), SERVICE_KEYS: SERVICE_KEY });
    device = randomUUID();
    tokens = await signIn(service.url, 'ada', { device_id: device });
    // So that nothing writes while a test looks at all rows.
    await query(service.databaseUrl, `UPDATE devices SET last_seen_at = now() + interval '1 day'`);
    socket = await SocketClient.connect(service.url, tokens.access_token);
  });
  afterAll(async () => {
    socket?.close();
    await service?.close();
    await provider?.close();
  });

  const push = (body: object) =>
    bearer(service.url, SERVICE_KEY).post('/push', { user_id: tokens.user_id, ...body });
  const asUser = () => bearer(service.url, tokens.access_token);

  async function expectRefused(call: request.Test): Promise<void> {
    const before = await dump(service.databaseUrl);
    const { status, body } = await call;
    expect([status, body]).toEqual([
      400,
      { error: 'invalid_request', error_description: expect.any(String) },
    ]);
    expect(await dump(service.databaseUrl)).toBe(before);
  }

  describe('POST /push', () => {
    let events = 0;
    /** What comes out of the socket when `body` is pushed. */
    async function delivered(body: object): Promise<unknown> {
      const event = `n${events++}`;
      await push({ event, ...body }).expect(202);
      return (await socket.next(event)).data;
    }

    it.each([[''], [null], [0], [false], [' '], [{ a: '', b: null }], [['', null]]])(
      'data %j arrives as it was sent',
      async (data) => expect(await delivered({ data })).toEqual(data),
    );

    it.each(['{"constructor":{"a":1}}', '{"__proto__":{"a":1},"b":[{"toString":null}]}'])(
      'data %s arrives as it was sent',
      async (json) => expect(JSON.stringify(await delivered({ data: JSON.parse(json) }))).toBe(json),
    );

    it('no data arrives as null, and null means that other members are absent', async () => {
      expect(await delivered({})).toBeNull();
      expect(await delivered({ device_id: null, ttl: null, data: 1 })).toBe(1);
    });

    it.each([
      ['user_id', ''],
      ['user_id', null],
      ['event', ''],
      ['event', null],
      ['device_id', ''],
      ['device_id', ' '],
      ['ttl', ''],
      ['ttl', '60'],
      ['ttl', false],
    ])('%s %j is refused', async (name, value) => {
      await expectRefused(push({ event: 'x', data: 1, [name]: value }));
    });

    const nested = (depth: number, open: string, close: string): unknown =>
      JSON.parse(`${open.repeat(depth)}1${close.repeat(depth)}`);

    it.each([
      ['arrays', '[', ']'],
      ['objects', '{"a":', '}'],
    ])('data may be nested 100 deep, in %s, and no deeper', async (_name, open, close) => {
      const deepest = nested(100, open, close);
      expect(await delivered({ data: deepest })).toEqual(deepest);
      await expectRefused(push({ event: 'x', data: nested(101, open, close) }));
      await expectRefused(push({ event: 'x', data: nested(5000, open, close) }));
    });
  });

  it.each([[{}], [{ device_name: '' }], [{ device_name: null }], [{ device_name: ' ' }]])(
    'PATCH /devices/… refuses %j',
    async (body) => expectRefused(asUser().patch(`/devices/${device}`, body)),
  );

  it('POST /sign-out: a scope that is null is left out, an empty one is refused', async () => {
    await expectRefused(asUser().post('/sign-out', { scope: '' }));
    const { access_token } = await signIn(service.url);
    await bearer(service.url, access_token).post('/sign-out', { scope: null }).expect(204);
  });

  describe('forms', () => {
    const form = { token: 'x', user_id: 'x', event: 'demo.x', device_name: 'x', scope: 'others' };

    it.each<[string, () => request.Test]>([
      ['POST /push', () => bearer(service.url, SERVICE_KEY).post('/push')],
      ['POST /demo/push', () => asUser().post('/demo/push')],
      ['POST /sign-out', () => asUser().post('/sign-out')],
      ['PATCH /devices/…', () => asUser().patch(`/devices/${device}`)],
    ])('%s takes none', async (_name, call) => {
      await expectRefused(
        call()
          .type('form')
          .send({ ...form, user_id: tokens.user_id }),
      );
      await expectRefused(call().type('form').send('a')); // which holds no member
    });

    it('an empty one, as curl -d "" sends it, counts as no body', async () => {
      const { access_token } = await signIn(service.url);
      await bearer(service.url, access_token).post('/sign-out').type('form').send('').expect(204);
    });

    it('are accepted by the OAuth endpoints', async () => {
      const { url } = service;
      const post = (path: string) => request(url).post(path).type('form');
      const state = await beginSignIn(url);
      await post('/oauth2/token').send({ code: 'ada', state }).expect(200);
      await post('/oauth2/refresh').send(`refresh_token=${tokens.refresh_token}`).expect(200);
      await post('/oauth2/revoke').send({ token: 'x', token_type_hint: '' }).expect(200);
      const introspected = await bearer(url, SERVICE_KEY)
        .post('/oauth2/introspect')
        .type('form')
        .send({ token: tokens.access_token, token_type_hint: '' });
      expect(introspected.body).toMatchObject({ active: true });
    });
  });

  it('of the public endpoints: empty or null members count as left out', async () => {
    for (const empty of ['', null]) {
      const state = await beginSignIn(service.url);
      const optional = { redirect_uri: empty, code_verifier: empty, iss: empty, device_id: empty };
      await request(service.url)
        .post('/oauth2/token')
        .send({ code: 'ada', state, ...optional, device_name: empty, user_agent: empty })
        .expect(200);
    }
    const empty = 'redirect_uri=&code_challenge=&code_challenge_method=';
    await request(service.url).get(`/oauth2/authorize?provider=stub&${empty}`).expect(200);
  });

  describe('JSON', () => {
    const refresh = (body: string | Buffer, headers: Record<string, string> = {}) =>
      request(service.url)
        .post('/oauth2/refresh')
        .set({ 'Content-Type': 'application/json', ...headers })
        .serialize((sent: unknown) => sent as string)
        .send(body);
    const good = () => `{"refresh_token":"${tokens.refresh_token}"`;

    it('may be compressed, and begin with a byte order mark', async () => {
      await refresh(gzipSync(`${good()}}`), { 'Content-Encoding': 'gzip' }).expect(200);
      await refresh(`\ufeff${good()}}`).expect(200);
      await refresh(`${good()}}`, { 'Content-Type': 'application/json; charset=UTF-8' }).expect(200);
    });

    it('of equal members the last counts (contract §3, RFC 8259 §4)', async () => {
      await refresh(`{"refresh_token":"x",${good().slice(1)}}`).expect(200);
      await refresh(`${good()},"refresh_token":"x"}`).expect(401);
    });

    it.each([
      [
        'a member that nobody asked for, nested too deep',
        () => `${good()},"a":${'['.repeat(101)}${']'.repeat(101)}}`,
      ],
      ['an array for a body, nested too deep', () => `${'['.repeat(200)}${']'.repeat(200)}`],
    ])('%s is refused, however it is sent', async (_name, body) => {
      await expectRefused(refresh(body()));
      await expectRefused(refresh(`\ufeff${body()}`));
      await expectRefused(refresh(gzipSync(body()), { 'Content-Encoding': 'gzip' }));
      await expectRefused(
        refresh(Buffer.from(body(), 'utf16le'), { 'Content-Type': 'application/json; charset=utf-16le' }),
      );
    });

    it('is UTF-8', async () => {
      const headers = { 'Content-Type': 'application/json; charset=utf-16le' };
      await expectRefused(refresh(Buffer.from(`${good()}}`, 'utf16le'), headers));
    });
  });

  it.each([
    ['101 parameters', Array.from({ length: 101 }, (_, i) => `p${i}=1`).join('&'), 400],
    ['100 that are empty', '&'.repeat(100), 400],
    ['one name 101 times', Array(101).fill('a=1').join('&'), 400],
    ['99 beside the one', Array.from({ length: 99 }, (_, i) => `p${i}=1`).join('&'), 200],
  ])('a form has 100 parameters at most: %s', async (_name, others, status) => {
    const { body } = await request(service.url)
      .post('/oauth2/refresh')
      .type('form')
      .send(`refresh_token=${tokens.refresh_token}&${others}`)
      .expect(status);
    if (status === 400) expect(body).toMatchObject({ error: 'invalid_request' });
  });

  it('a second parameter does not hide behind a thousand others', async () => {
    const padding = 'x&'.repeat(1000);
    await request(service.url).get(`/oauth2/authorize?provider=stub&${padding}`).expect(200);
    await expectRefused(request(service.url).get(`/oauth2/authorize?provider=stub&${padding}provider=stub`));
  });

  it('no malformed body, path or header is quoted in the log, not even ten or four characters of it', async () => {
    const secret = 'Zq7XkV9pWm';
    const post = (type: string, body: string, headers = {}) =>
      request(service.url)
        .post('/oauth2/refresh')
        .set({ 'Content-Type': type, ...headers })
        .serialize((sent: unknown) => sent as string)
        .send(body)
        .expect(400);
    const json = 'application/json';
    for (const body of [
      `{"a":${secret}}`,
      `${secret}{}`,
      `{"a":"${secret}`,
      `{"a":"${secret}\n"}`,
      `[${secret}`,
    ]) {
      await post(json, body);
    }
    await post(`${json}; charset=${secret}`, '{}');
    await post(`${json}; charset=utf-${secret}`, '{}');
    await post(json, '{}', { 'Content-Encoding': secret });
    await post('application/x-www-form-urlencoded', `${secret}&`.repeat(101));
    await post('text/plain', secret);
    await asUser().delete(`/devices/${secret}%FF`).expect(400);
    const log = service.log.join('').replaceAll(`/devices/${secret}%FF`, ''); // the path of the request itself
    for (let i = 0; i + 4 <= secret.length; i++) expect(log).not.toContain(secret.slice(i, i + 4));
  });
});
