import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { Channel } from '../support/channel.js';
import { SERVICE_KEY } from '../support/service.js';
import { dump } from '../support/database.js';
import { bearer, beginSignIn } from '../support/sign-in.js';
import type { SocketClient } from '../support/socket-client.js';
import { prepare } from '../support/use.js';

/**
 * The OAuth endpoints are lenient; all others take JSON as it was sent
 * (docs/endpoints.md#rules-for-all-calls).
 */
describe('input', () => {
  const channel = Channel.around();
  let device: string;
  beforeAll(() => {
    device = randomUUID();
  });
  const tokens = prepare(() => channel.signIn('ada', { device_id: device }));
  beforeAll(async () => {
    // Prevents writes of `last_seen_at` while a test compares all rows.
    await channel.sql(`UPDATE devices SET last_seen_at = now() + interval '1 day'`);
  });

  const push = (body: object) => channel.push({ user_id: tokens.user_id, ...body });
  const asUser = () => bearer(channel.url, tokens.access_token);
  const refresh = (body: string | Buffer, headers: Record<string, string> = {}) =>
    request(channel.url)
      .post('/oauth2/refresh')
      .set({ 'Content-Type': 'application/json', ...headers })
      .serialize((sent: unknown) => sent as string)
      .send(body);

  async function expectRefused(call: request.Test): Promise<void> {
    const before = await dump(channel.service.databaseUrl);
    const { status, body } = await call;
    const error = { error: 'invalid_request', error_description: expect.any(String) };
    expect([status, body]).toEqual([400, error]);
    expect(await dump(channel.service.databaseUrl)).toBe(before);
  }

  describe('POST /push', () => {
    let events = 0;
    let socket: SocketClient;
    beforeEach(async () => {
      socket = await channel.connect(tokens);
    });
    /** Pushes a body. @returns the data that the socket receives */
    async function delivered(body: object): Promise<unknown> {
      const event = `n${events++}`;
      await push({ event, ...body }).expect(202);
      return (await socket.next(event)).data;
    }

    it('data arrives as it was sent', async () => {
      for (const data of ['', null, 0, false, { a: '', b: null }, [['', null]]])
        expect(await delivered({ data })).toEqual(data);
      const json = '{"__proto__":{"a":1},"constructor":{"a":1},"b":[{"toString":null}]}';
      expect(JSON.stringify(await delivered({ data: JSON.parse(json) }))).toBe(json);
    });

    it('no data arrives as null, and null means that other members are absent', async () => {
      expect(await delivered({})).toBeNull();
      expect(await delivered({ device_id: null, ttl: null, data: 1 })).toBe(1);
    });

    it.each([
      ['user_id', ''],
      ['event', ''],
      ['device_id', ' '],
      ['ttl', ''],
      ['ttl', '60'],
    ])('%s %j is refused', async (name, value) => {
      await expectRefused(push({ event: 'x', data: 1, [name]: value }));
    });
  });

  it('an empty, blank or absent name, and an empty scope, are refused; a scope of null is absent', async () => {
    for (const body of [{}, { device_name: '' }, { device_name: null }, { device_name: ' ' }])
      await expectRefused(asUser().patch(`/devices/${device}`, body));
    await expectRefused(asUser().post('/sign-out', { scope: '' }));
    const { access_token } = await channel.signIn();
    await bearer(channel.url, access_token).post('/sign-out', { scope: null }).expect(204);
  });

  it.each<[string, () => request.Test]>([
    ['POST /push', () => bearer(channel.url, SERVICE_KEY).post('/push')],
    ['POST /demo/push', () => asUser().post('/demo/push')],
    ['POST /sign-out', () => asUser().post('/sign-out')],
    ['PATCH /devices/…', () => asUser().patch(`/devices/${device}`)],
  ])('%s refuses forms', async (_name, call) => {
    const form = { user_id: tokens.user_id, event: 'demo.x', device_name: 'x', scope: 'others' };
    await expectRefused(call().type('form').send(form));
    await expectRefused(call().type('form').send('a'));
  });

  it('an empty form, as `curl -d ""` sends it, counts as no body', async () => {
    const { access_token } = await channel.signIn();
    await bearer(channel.url, access_token).post('/sign-out').type('form').send('').expect(204);
  });

  it('the OAuth endpoints accept forms; empty or null members count as absent', async () => {
    const { url } = channel;
    const post = (path: string) => request(url).post(path).type('form');
    await post('/oauth2/token')
      .send({ code: 'ada', state: await beginSignIn(url) })
      .expect(200);
    await post('/oauth2/refresh').send(`refresh_token=${tokens.refresh_token}`).expect(200);
    await post('/oauth2/revoke').send({ token: 'x', token_type_hint: '' }).expect(200);
    const asked = { token: tokens.access_token, token_type_hint: '' };
    const answer = await bearer(url, SERVICE_KEY).post('/oauth2/introspect').type('form').send(asked);
    expect(answer.body).toMatchObject({ active: true });
    for (const empty of ['', null]) {
      const optional = { redirect_uri: empty, code_verifier: empty, iss: empty, device_id: empty };
      await request(url)
        .post('/oauth2/token')
        .send({ code: 'ada', state: await beginSignIn(url), ...optional, device_name: empty })
        .expect(200);
    }
    const blank = 'redirect_uri=&code_challenge=&code_challenge_method=';
    await request(url).get(`/oauth2/authorize?provider=stub&${blank}`).expect(200);
  });

  it('JSON may begin with a byte order mark, and name UTF-8', async () => {
    const good = `{"refresh_token":"${tokens.refresh_token}"}`;
    await refresh(good, { 'Content-Encoding': 'identity' }).expect(200);
    await refresh(`\ufeff${good}`).expect(200);
    await refresh(good, { 'Content-Type': 'application/json; charset=UTF-8' }).expect(200);
    const utf16 = { 'Content-Type': 'application/json; charset=utf-16le' };
    await expectRefused(refresh(Buffer.from(good, 'utf16le'), utf16));
  });

  it('of equal JSON members the last counts (RFC 8259 §4)', async () => {
    const good = `"refresh_token":"${tokens.refresh_token}"`;
    await refresh(`{"refresh_token":"x",${good}}`).expect(200);
    await refresh(`{${good},"refresh_token":"x"}`).expect(401);
  });

  it('unknown members and arrays are refused if they are nested too deep, however they are sent', async () => {
    const deep = `${'['.repeat(101)}${']'.repeat(101)}`;
    for (const body of [`{"refresh_token":"${tokens.refresh_token}","a":${deep}}`, deep]) {
      await expectRefused(refresh(body));
    }
  });

  it.each([
    ['101 parameters', Array.from({ length: 101 }, (_, i) => `p${i}=1`).join('&'), 400],
    ['100 that are empty', '&'.repeat(100), 400],
    ['99 beside the token', Array.from({ length: 99 }, (_, i) => `p${i}=1`).join('&'), 200],
  ])('a form has 100 parameters at most: %s', async (_name, others, status) => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    await refresh(`refresh_token=${tokens.refresh_token}&${others}`, form).expect(status);
  });

  it('a second parameter of a query is seen behind a thousand others', async () => {
    const padding = 'x&'.repeat(1000);
    await request(channel.url).get(`/oauth2/authorize?provider=stub&${padding}`).expect(200);
    await expectRefused(request(channel.url).get(`/oauth2/authorize?provider=stub&${padding}provider=stub`));
  });

  it('the log quotes no four characters of a malformed body, path or header', async () => {
    const secret = 'Zq7XkV9pWm';
    for (const body of [`{"a":${secret}}`, `${secret}{}`, `{"a":"${secret}`, `{"a":"${secret}\n"}`])
      await refresh(body).expect(400);
    await refresh('{}', { 'Content-Type': `application/json; charset=${secret}` }).expect(400);
    await refresh('{}', { 'Content-Encoding': secret }).expect(415);
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    await refresh(`${secret}&`.repeat(101), form).expect(400);
    await refresh(secret, { 'Content-Type': 'text/plain' }).expect(400);
    await asUser().delete(`/devices/${secret}%FF`).expect(400);
    const log = channel.service.log.join('').replaceAll(`/devices/${secret}%FF`, ''); // the path of the request itself
    for (let i = 0; i + 4 <= secret.length; i++) expect(log).not.toContain(secret.slice(i, i + 4));
  });
});
