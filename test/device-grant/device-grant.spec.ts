import { randomUUID } from 'node:crypto';
import request, { type Response } from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { ClientKey } from '../support/dpop.js';
import { query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { useInstances } from '../support/use.js';

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const CLIENT = 'my-cli';

interface Begun {
  device_code: string;
  user_code: string;
  verification_uri: string;
  number: string;
}

/** Sign-in of devices without a browser (RFC 8628; docs/device-sign-in.md), on two instances of one database. */
describe('a device without a browser', () => {
  const { provider, here, there } = useInstances({
    PROVIDERS_MOCK_ENABLED: 'false',
    DEVICE_GRANT: 'push',
    SERVICE_KEYS: SERVICE_KEY,
  });
  beforeAll(() => provider.signInAtOnce(() => 'ada'));
  beforeEach(() => sql("UPDATE device_requests SET created_at = now() - interval '2 hours'"));

  const sql = (text: string, values: unknown[] = []) => query(here.databaseUrl, text, values);

  async function begin(body: object = {}, url = here.url): Promise<Begun> {
    const fields = { client_id: CLIENT, device_name: 'build server', device_id: randomUUID(), ...body };
    const answer = await request(url)
      .post('/oauth2/device_authorization')
      .type('form')
      .send(fields)
      .expect(200);
    return answer.body as Begun;
  }

  function poll({ device_code }: Pick<Begun, 'device_code'>, more: object = {}, url = here.url) {
    const body = { grant_type: GRANT, device_code, client_id: CLIENT, ...more };
    return request(url).post('/oauth2/token').type('form').send(body);
  }

  /** Decides on another device, which is signed in. */
  function decide(tokens: Tokens, code: string, body: object, url = here.url) {
    return request(url)
      .post(`/me/device-requests/${code}`)
      .set('Authorization', `Bearer ${tokens.access_token}`)
      .send(body);
  }

  /** A browser that goes through the page, up to the question. */
  async function openQuestion(begun: Begun): Promise<{ cookie: string; page: Response }> {
    const { cookie, callback } = await signInOnPage(begun);
    await request(here.url).get(callback).set('Cookie', cookie).expect(303);
    return { cookie, page: await request(here.url).get('/device/confirm').set('Cookie', cookie) };
  }

  /** A browser that enters the code and signs in. @returns its cookie, and the path of the callback */
  async function signInOnPage({ user_code }: Begun): Promise<{ cookie: string; callback: string }> {
    const entered = await request(here.url).post('/device').type('form').send({ user_code }).expect(200);
    const cookie = entered.headers['set-cookie']![0]!.split(';')[0]!;
    return { cookie, callback: await follow(entered.headers['refresh']!.slice('0; url='.length), cookie) };
  }

  /** Follows redirects of a sign-in. @returns path of the callback */
  async function follow(from: string, cookie: string): Promise<string> {
    let address = from;
    for (let hops = 0; !address.includes('/device/callback?'); hops++) {
      if (hops > 5) throw new Error(`${address} leads nowhere`);
      const url = new URL(address, here.url);
      const answer = await request(url.origin)
        .get(url.pathname + url.search)
        .set('Cookie', cookie);
      address = new URL(answer.headers['location']!, url).href;
    }
    const { pathname, search } = new URL(address);
    return pathname + search;
  }

  function answerQuestion(cookie: string, answer: string) {
    return request(here.url).post('/device/confirm').type('form').set('Cookie', cookie).send({ answer });
  }

  it('is signed in by a person on the page, as a device like any other', async () => {
    const begun = await begin();
    expect(begun).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${here.url}/device`,
      verification_uri_complete: `${here.url}/device?user_code=${begun.user_code}`,
      expires_in: 600,
      interval: 5,
      number: expect.stringMatching(/^\d\d$/),
    });
    const { cookie, page } = await openQuestion(begun);
    expect(page.text).toContain('build server');
    expect(page.text).toContain(CLIENT);
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    await answerQuestion(cookie, 'yes').expect(200);
    const tokens = (await poll(begun, {}, there.url).expect(200)).body as Tokens;
    const devices = await request(here.url)
      .get('/devices')
      .set('Authorization', `Bearer ${tokens.access_token}`)
      .expect(200);
    expect(devices.body).toMatchObject({
      devices: expect.arrayContaining([
        expect.objectContaining({ device_name: 'build server', current: true }),
      ]),
    });
    expect((await poll(begun).expect(400)).body).toMatchObject({ error: 'expired_token' });
  });

  it('learns a denial within a second, while its poll is held back', async () => {
    const begun = await begin();
    const { cookie } = await openQuestion(begun);
    const pollOnce = () => poll(begun, {}, there.url).then((answer) => ({ answer, at: Date.now() }));
    const isOpen = ({ answer: { body } }: Awaited<ReturnType<typeof pollOnce>>): boolean =>
      ['authorization_pending', 'slow_down'].includes((body as { error: string }).error);
    const pending = (async () => {
      let polled = await pollOnce();
      while (isOpen(polled)) polled = await pollOnce(); // the machine was busy for longer than a poll is held
      return polled;
    })();
    await answerQuestion(cookie, 'no').expect(200);
    const decided = Date.now();
    const { answer, at } = await pending;
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: 'access_denied' });
    expect(at - decided).toBeLessThan(4000); // less than an interval
  });

  it('waits for a decision, and is told to slow down if it polls too soon', async () => {
    const begun = await begin();
    const [held, early] = await Promise.all([poll(begun), poll(begun, {}, there.url)]);
    expect([held.body, early.body].map(({ error }: { error: string }) => error).toSorted()).toEqual([
      'authorization_pending',
      'slow_down',
    ]);
    expect([held.status, early.status]).toEqual([400, 400]);
    expect(
      await sql(
        'SELECT poll_interval FROM device_requests WHERE state = $1 ORDER BY created_at DESC LIMIT 1',
        ['open'],
      ),
    ).toEqual([{ poll_interval: 10 }]);
  });

  it.each([
    ['an unknown code', { device_code: 'x' }],
    ['the code of another client', { client_id: 'other' }],
  ])('is refused with %s', async (_what, more) => {
    expect((await poll(await begin(), more).expect(400)).body).toMatchObject({ error: 'expired_token' });
  });

  it('is approved by a signed-in device that types the code, and ends with its session at the latest', async () => {
    const approver = await signIn(here.url, 'ada', { device_id: randomUUID() });
    const begun = await begin();
    await sql(`UPDATE refresh_tokens SET expires_at = now() + interval '1 day' WHERE session_id = $1`, [
      claimsOf(approver.access_token).sid,
    ]);
    await decide(approver, begun.user_code.toLowerCase(), { approve: true }, there.url).expect(204);
    const tokens = (await poll(begun).expect(200)).body as Tokens & { refresh_token_expires_in: number };
    expect(tokens.user_id).toBe(approver.user_id);
    expect(tokens.refresh_token_expires_in).toBeLessThanOrEqual(86_400);
    // it approves no other
    const another = await begin();
    const refused = await decide(tokens, another.user_code, { approve: true }).expect(403);
    expect(refused.body).toMatchObject({ error: 'access_denied' });
    await decide(tokens, another.user_code, { approve: false }).expect(204);
  });

  it('reaches the open devices of the user whom it names, who compares a number', async () => {
    const approver = await signIn(here.url, 'grace', { device_id: randomUUID() });
    const socket = await SocketClient.connect(there.url, approver.access_token);
    const begun = await begin({ login_hint: approver.user_id });
    const { data } = await socket.next('device.requested');
    const { request_id: id } = data as { request_id: string };
    expect(data).toMatchObject({ device_name: 'build server', expires_at: expect.any(String) });
    const list = await request(here.url)
      .get('/me/device-requests')
      .set('Authorization', `Bearer ${approver.access_token}`)
      .expect(200);
    expect(list.body).toMatchObject({ device_requests: [{ request_id: id, client_id: CLIENT }] });
    const other = await signIn(here.url, 'ada');
    await decide(other, id, { approve: true, number: begun.number }).expect(404);
    await decide(other, begun.user_code, { approve: true }).expect(404);
    await decide(approver, id, { approve: true }).expect(400);
    await decide(approver, id, { approve: true, number: begun.number }).expect(204);
    expect((await poll(begun).expect(200)).body).toMatchObject({ user_id: approver.user_id });
    socket.close();
  });

  it('is denied with a wrong number', async () => {
    const approver = await signIn(here.url, 'lin');
    const begun = await begin({ login_hint: approver.user_id });
    const id = await named(approver);
    const number = begun.number === '10' ? '11' : '10';
    await decide(approver, id, { approve: true, number }).expect(403);
    expect((await poll(begun).expect(400)).body).toMatchObject({ error: 'access_denied' });
  });

  /** Waits until a request names the user. */
  async function named(user: Tokens): Promise<string> {
    let ids: { request_id: string }[] = [];
    await until(async () => {
      const { body } = await request(here.url)
        .get('/me/device-requests')
        .set('Authorization', `Bearer ${user.access_token}`)
        .expect(200);
      ids = (body as { device_requests: typeof ids }).device_requests;
      return ids.length > 0;
    });
    return ids[0]!.request_id;
  }

  it('is bound to its key if it has one', async () => {
    const begun = await begin();
    const key = new ClientKey();
    await decide(await signIn(here.url, 'ada'), begun.user_code, { approve: true }).expect(204);
    const proof = key.proof(`${here.url}/oauth2/token`);
    const { body } = await poll(begun).set('DPoP', proof).expect(200);
    const { refresh_token } = body as Tokens;
    await request(here.url).post('/oauth2/refresh').send({ refresh_token }).expect(400);
  });

  it('needs a proof of the key of a bound session that approves', async () => {
    const key = new ClientKey();
    const begun = await begin();
    const state = await request(here.url).get('/oauth2/authorize').query({ provider: 'stub' });
    const { body: approver } = await request(here.url)
      .post('/oauth2/token')
      .set('DPoP', key.proof(`${here.url}/oauth2/token`))
      .send({ code: 'ada', state: (state.body as { state: string }).state })
      .expect(200);
    const call = () => decide(approver as Tokens, begun.user_code, { approve: true });
    await call().expect(400);
    const htu = `${here.url}/me/device-requests/${begun.user_code}`;
    await call().set('DPoP', new ClientKey().proof(htu)).expect(400);
    await call()
      .set('DPoP', key.proof(`${here.url}/oauth2/token`))
      .expect(400);
    await call().set('DPoP', key.proof(htu)).expect(204);
  });

  it('gets one session of concurrent polls, and one decision of an approval and a denial', async () => {
    const approver = await signIn(here.url, 'ada');
    const begun = await begin();
    const decisions = await Promise.all(
      [true, false, true].map((approve, i) =>
        decide(approver, begun.user_code, { approve }, [here, there][i % 2]!.url),
      ),
    );
    expect(decisions.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(decisions.filter(({ status }) => status === 404)).toHaveLength(2);
    const second = await begin();
    await decide(approver, second.user_code, { approve: true }).expect(204);
    const polls = await Promise.all(
      Array.from({ length: 6 }, (_, i) => poll(second, {}, [here, there][i % 2]!.url)),
    );
    expect(polls.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(polls.filter(({ status }) => status === 400)).toHaveLength(5);
  });

  it('gets nothing once the session that approved has ended, or the user is suspended', async () => {
    const approver = await signIn(here.url, 'mary');
    const begun = await begin();
    await decide(approver, begun.user_code, { approve: true }).expect(204);
    await request(here.url)
      .post('/sign-out')
      .set('Authorization', `Bearer ${approver.access_token}`)
      .send({})
      .expect(204);
    expect((await poll(begun).expect(400)).body).toMatchObject({ error: 'access_denied' });
    const again = await signIn(here.url, 'mary');
    const next = await begin();
    await decide(again, next.user_code, { approve: true }).expect(204);
    await sql('UPDATE users SET suspended_at = now() WHERE user_id = $1', [again.user_id]);
    expect((await poll(next).expect(400)).body).toMatchObject({ error: 'access_denied' });
  });

  it('does not reach a user whom too many requests name', async () => {
    const user = await signIn(here.url, 'bombed');
    for (let i = 0; i < 5; i++) await begin({ login_hint: user.user_id });
    await named(user);
    const count = async (): Promise<number> =>
      (await sql('SELECT FROM device_requests WHERE hinted_user_id = $1', [user.user_id])).length;
    await until(async () => (await count()) === 3);
    const { body } = await request(here.url)
      .get('/me/device-requests')
      .set('Authorization', `Bearer ${user.access_token}`)
      .expect(200);
    const ids = (body as { device_requests: { request_id: string }[] }).device_requests;
    expect(ids).toHaveLength(3);
    for (const { request_id } of ids) await decide(user, request_id, { approve: false }).expect(204);
    for (let i = 0; i < 4; i++) await begin({ login_hint: user.user_id });
    await until(async () => (await count()) === 5);
  });

  it('is not signed in by a sign-in that another browser has begun', async () => {
    const begun = await begin();
    const { cookie } = await openQuestion(begun);
    const other = await openQuestion(await begin());
    await answerQuestion(other.cookie, 'no').expect(200);
    await answerQuestion(other.cookie, 'yes').expect(400);
    const another = await signInOnPage(await begin());
    await request(here.url).get(another.callback).set('Cookie', cookie).expect(401);
    await request(here.url).get(another.callback).set('Cookie', another.cookie).expect(401); // spent
    await answerQuestion(cookie, 'yes').set('Sec-Fetch-Site', 'cross-site').expect(400);
    await answerQuestion(cookie, 'yes').set('Origin', 'https://evil.example').expect(400);
    await answerQuestion(cookie, 'yes').expect(200);
  });

  it('is not found on the page by a code that is wrong, has expired or was used', async () => {
    const [expired, used] = [await begin(), await begin()];
    const { cookie } = await openQuestion(used);
    await answerQuestion(cookie, 'yes').expect(200);
    await poll(used).expect(200);
    await sql("UPDATE device_requests SET codes_expire_at = now() WHERE state = 'open'");
    const enter = (user_code: string) => request(here.url).post('/device').type('form').send({ user_code });
    const pages: Response[] = [];
    for (const code of ['BCDF-GHJK', expired.user_code, used.user_code]) pages.push(await enter(code));
    expect(pages.map(({ status }) => status)).toEqual([422, 422, 422]);
    for (const { text, headers } of pages) {
      expect(text).toContain('There is no such code, or it has expired.');
      expect(headers).not.toHaveProperty('set-cookie');
    }
  });

  it('is not signed in as another user than the one whom it names', async () => {
    const user = await signIn(here.url);
    const begun = await begin();
    await sql(`UPDATE device_requests SET hinted_user_id = $1 WHERE state = 'open'`, [user.user_id]);
    const { cookie, page } = await openQuestion(begun); // as ada
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('for another account')]);
    await answerQuestion(cookie, 'yes').expect(400);
    const decided = `SELECT FROM device_requests WHERE hinted_user_id = $1 AND state <> 'open'`;
    expect(await sql(decided, [user.user_id])).toEqual([]);
  });

  /** Address of "Use another account" on a page. */
  const linkIn = ({ text }: Response): string | undefined =>
    /<a href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');

  describe('and a person with the wrong account of a single sign-on', () => {
    let who: string;
    beforeEach(() => {
      who = `private-${randomUUID()}`;
      provider.signInAtOnce(() => who);
    });
    afterEach(() => provider.signInAtOnce(() => 'ada'));

    /** Signs in by the link of a page, as somebody else. */
    async function useAnother(page: Response, cookie: string): Promise<Response> {
      const address = linkIn(page)!;
      expect(new URL(address, here.url).searchParams.get('prompt')).toBe('select_account');
      who = `work-${randomUUID()}`;
      const callback = await follow(address, cookie);
      await request(here.url).get(callback).set('Cookie', cookie).expect(303);
      return request(here.url).get('/device/confirm').set('Cookie', cookie).expect(200);
    }

    it('is signed in with another one, which the page offers', async () => {
      const begun = await begin();
      const { cookie, page } = await openQuestion(begun);
      await useAnother(page, cookie);
      await answerQuestion(cookie, 'yes').expect(200);
      const { user_id } = (await poll(begun).expect(200)).body as Tokens;
      expect(user_id).toBe(deriveUserId('stub', who));
    });

    it('is signed in with another one after a refusal', async () => {
      const { user_id } = await signIn(here.url, who);
      await sql('UPDATE users SET suspended_at = now() WHERE user_id = $1', [user_id]);
      const begun = await begin();
      const { cookie, callback } = await signInOnPage(begun);
      const refused = await request(here.url).get(callback).set('Cookie', cookie).expect(400);
      await useAnother(refused, cookie);
      await answerQuestion(cookie, 'yes').expect(200);
      await poll(begun).expect(200);
    });

    it('is signed in with the one that the request names', async () => {
      const begun = await begin();
      const { cookie, page } = await openQuestion(begun);
      await sql(`UPDATE device_requests SET hinted_user_id = $1 WHERE state = 'open'`, [randomUUID()]);
      const other = await request(here.url).get('/device/confirm').set('Cookie', cookie).expect(403);
      expect(linkIn(other)).toBe(linkIn(page));
    });

    it('is offered no other one by a refusal of a request that this browser did not enter', async () => {
      const mine = await openQuestion(await begin());
      const { callback } = await signInOnPage(await begin());
      const state = new URL(callback, here.url).searchParams.get('state')!;
      for (const [cookie, id] of [
        [mine.cookie, state],
        [mine.cookie, 'x'],
        ['a=b', state],
      ] as const) {
        const forged = `/device/callback?error=access_denied&state=${id}`;
        const refused = await request(here.url).get(forged).set('Cookie', cookie).expect(400);
        expect(linkIn(refused)).toBeUndefined();
      }
    });

    it.each(['en', 'de', 'es', 'fr', 'it', 'ja', 'pt', 'zh'])('is asked in %s', async (language) => {
      const { cookie } = await openQuestion(await begin());
      const asked = await request(here.url)
        .get('/device/confirm')
        .set({ Cookie: cookie, 'Accept-Language': language });
      expect(asked.text).toContain(`lang="${language}"`);
      const text = /<a href="[^"]+">([^<]+)<\/a>/.exec(asked.text)![1];
      expect(text === 'Use another account').toBe(language === 'en');
    });
  });

  it('warns of a device in another network', async () => {
    const begun = await begin();
    await sql(`UPDATE device_requests SET network = '\\x00' WHERE state = 'open'`);
    const { page } = await openQuestion(begun);
    expect(page.text).toContain('another network');
    const own = await openQuestion(await begin());
    expect(own.page.text).not.toContain('another network');
  });

  it('is announced in the metadata', async () => {
    const { body } = await request(here.url).get('/.well-known/oauth-authorization-server').expect(200);
    expect(body).toMatchObject({
      device_authorization_endpoint: `${here.url}/oauth2/device_authorization`,
      grant_types_supported: ['authorization_code', 'refresh_token', GRANT],
    });
  });

  it('is unknown while DEVICE_GRANT is off', async () => {
    const off = await startTestService({ ...provider.env(), PROVIDERS_MOCK_ENABLED: 'false' });
    try {
      await request(off.url).post('/oauth2/device_authorization').send({ client_id: CLIENT }).expect(404);
      await request(off.url).get('/device').expect(404);
      const { body } = await poll({ device_code: 'x' }, {}, off.url).expect(400);
      expect(body).toMatchObject({ error: 'unsupported_grant_type' });
    } finally {
      await off.close();
    }
  });
});
