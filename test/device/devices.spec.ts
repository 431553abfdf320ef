import { createHash, randomUUID } from 'node:crypto';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { Sql } from '../../src/platform/database/sql.js';
import { LastUseWriter } from '../../src/device/last-use-writer.js';
import { Events } from '../../src/platform/events.js';
import { RateLimits } from '../../src/platform/http/rate-limit.js';
import { User } from '../../src/user/user.entity.js';
import { UserStore } from '../../src/user/user.store.js';
import { makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { bearer, claimsOf, NO_FEATURES, signIn, type Tokens } from '../support/sign-in.js';
import { dump, query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { useService } from '../support/use.js';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface DeviceView {
  device_id: string;
  device_name: string | null;
  last_seen_at: string;
  current: boolean;
  signed_in: boolean;
}

/** `GET /me` and the devices. */
describe('users and their devices', () => {
  let user: string;

  const { provider, service } = useService({ SERVICE_KEYS: SERVICE_KEY });
  beforeEach(() => {
    user = randomUUID();
  });

  const as = ({ access_token }: Tokens) => bearer(service.url, access_token);
  const onDevice = (device_id: string = randomUUID(), more = {}) =>
    signIn(service.url, user, { device_id, ...more });
  async function devicesOf(tokens: Tokens): Promise<DeviceView[]> {
    const { body } = await as(tokens).get('/devices').expect(200);
    return (body as { devices: DeviceView[] }).devices;
  }

  // Concurrent requests are batched, and each gets its own user only.
  it('GET /me of several users at once returns each their own, on Citus as well', async () => {
    const shared: number[] = [];
    const events = service.app.get(Events);
    events.on('statement.batched', ({ name, calls }) => void (name === 'user' && shared.push(calls)));
    const users = Array.from({ length: 4 }, () => randomUUID());
    const all = [];
    for (const name of users) {
      provider.answerWith(200, { provider_user_id: name, username: `of ${name}` });
      all.push(await signIn(service.url));
    }
    provider.reset();
    const answers = await Promise.all(all.map((tokens) => as(tokens).get('/me').expect(200)));
    expect(answers.map(({ body }) => body as object)).toEqual(
      all.map(({ user_id }, i) => ({
        user_id,
        username: `of ${users[i]}`,
        email: null,
        avatar_url: null,
        created_at: expect.stringMatching(TIME),
        claims: {},
      })),
    );
    shared.length = 0;
    const ids = [...all.map(({ user_id }) => user_id).toReversed(), randomUUID(), all[0]!.user_id];
    const names = [...users.toReversed().map((name) => `of ${name}`), undefined, `of ${users[0]}`];
    const dataSource = service.app.get(DataSource);
    const single = new UserStore(new Sql(dataSource, true), dataSource.getRepository(User), NO_FEATURES);
    for (const store of [service.app.get(UserStore), single]) {
      const found = await Promise.all(ids.map((id) => store.find(id)));
      expect(found.map((one) => one?.username)).toEqual(names);
    }
    expect(shared).toEqual(process.env['CITUS_URL'] === undefined ? [ids.length] : []);
  });

  it('GET /devices lists them, newest use first, and tells which is the caller’s', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    const tokens = await onDevice(first, { device_name: 'Phone', user_agent: 'UA' });
    await onDevice(second);
    expect(await devicesOf(tokens)).toEqual([
      expect.objectContaining({ device_id: second, device_name: null, current: false }),
      {
        device_id: first,
        device_name: 'Phone',
        user_agent: 'UA',
        browser: null,
        os: null,
        address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
        created_at: expect.stringMatching(TIME),
        last_seen_at: expect.stringMatching(TIME),
        current: true,
        signed_in: true,
        online: false,
      },
    ]);
  });

  it('tells which devices are signed in: those that have a session that lives', async () => {
    const devices = Array.from({ length: 4 }, () => randomUUID());
    const [mine, signedOut, expired, oneOfTwo] = devices.map((id) => () => onDevice(id));
    const tokens = await mine!();
    await as(await signedOut!())
      .post('/sign-out')
      .expect(204);
    for (const { refresh_token } of [await expired!(), await oneOfTwo!()]) {
      const hash = createHash('sha256').update(refresh_token).digest();
      const end = 'UPDATE refresh_tokens SET expires_at = now() WHERE token_hash = $1';
      await query(service.databaseUrl, end, [hash]);
    }
    await oneOfTwo!();
    // Another user may have a device with this id.
    await signIn(service.url, randomUUID(), { device_id: devices[1] });
    const known = await devicesOf(tokens);
    const states = devices.map((id) => known.find(({ device_id }) => device_id === id)!.signed_in);
    expect(states).toEqual([true, false, false, true]);
    const { body } = await as(tokens).patch(`/devices/${devices[1]}`, { device_name: 'Old' }).expect(200);
    expect(body).toMatchObject({ device_name: 'Old', signed_in: false, current: false });
    const own = await as(tokens).patch(`/devices/${devices[0]}`, { device_name: 'Mine' }).expect(200);
    expect(own.body).toMatchObject({ signed_in: true, current: true });
  });

  it('a session without a device sees the devices, none of them its own', async () => {
    await onDevice();
    const devices = await devicesOf(await signIn(service.url, user));
    expect(devices.map(({ current }) => current)).toEqual([false]);
  });

  describe('more than 100 devices', () => {
    const page = async (tokens: Tokens, cursor?: string) => {
      const { body } = await as(tokens)
        .get(`/devices${cursor === undefined ? '' : `?cursor=${cursor}`}`)
        .expect(200);
      return body as { devices: DeviceView[]; next_cursor?: string };
    };
    /** Devices without a session. @param lastSeen of the i-th, SQL */
    const add = (tokens: Tokens, count: number, lastSeen: string) =>
      query(
        service.databaseUrl,
        `INSERT INTO devices (user_id, device_id, last_seen_at)
         SELECT $1, gen_random_uuid(), ${lastSeen} FROM generate_series(1, $2::int) i`,
        [tokens.user_id, count],
      );

    it.each([
      ['of different times', `now() - i * interval '1.234567 s'`],
      ['of one time', `now() - interval '1 hour'`],
    ])('%s come in pages, each once, newest use first', async (_what, lastSeen) => {
      const tokens = await onDevice();
      await add(tokens, 249, lastSeen);
      const pages = [await page(tokens)];
      while (pages.at(-1)!.next_cursor !== undefined)
        pages.push(await page(tokens, pages.at(-1)!.next_cursor));
      expect(pages.map(({ devices }) => devices.length)).toEqual([100, 100, 50]);
      const all = pages.flatMap(({ devices }) => devices);
      expect(new Set(all.map(({ device_id }) => device_id)).size).toBe(250);
      const times = all.map(({ last_seen_at }) => last_seen_at);
      expect(times).toEqual(times.toSorted().toReversed());
      expect(all.map(({ current }) => current)).toEqual(all.map((_, i) => i === 0));
      expect(all.map(({ signed_in }) => signed_in)).toEqual(all.map((_, i) => i === 0));
      expect(pages.at(-1)).not.toHaveProperty('next_cursor');
    });

    it('a full page that is the last has no cursor', async () => {
      const tokens = await onDevice();
      await add(tokens, 99, 'now()');
      const { devices, ...rest } = await page(tokens);
      expect([devices.length, rest]).toEqual([100, {}]);
    });

    it('one that is used between two pages moves to the first: no other is left out or comes twice', async () => {
      const tokens = await onDevice();
      await add(tokens, 149, `now() - i * interval '1 hour'`);
      const first = await page(tokens);
      const [{ device_id: last }] = (await query(
        service.databaseUrl,
        `UPDATE devices SET last_seen_at = now() WHERE (user_id, last_seen_at) = (
           SELECT user_id, min(last_seen_at) FROM devices WHERE user_id = $1 GROUP BY user_id) RETURNING device_id`,
        [tokens.user_id],
      )) as [{ device_id: string }];
      const second = await page(tokens, first.next_cursor);
      const ids = [...first.devices, ...second.devices].map(({ device_id }) => device_id);
      expect([ids.length, new Set(ids).size, ids.includes(last)]).toEqual([149, 149, false]);
      expect((await page(tokens)).devices[0]!.device_id).toBe(last);
    });

    it.each([
      '',
      'x',
      `1-${randomUUID()}x`,
      `${'1'.repeat(17)}-${randomUUID()}`,
      '%00',
      `1-${randomUUID()}&cursor=1-${randomUUID()}`,
    ])('the cursor %j is refused', async (cursor) => {
      const { body } = await as(await onDevice())
        .get(`/devices?cursor=${cursor}`)
        .expect(400);
      expect(body).toMatchObject({ error: 'invalid_request' });
    });

    it('a cursor shows the devices of nobody else', async () => {
      const other = await signIn(service.url, randomUUID(), { device_id: randomUUID() });
      await add(other, 100, 'now()');
      const { next_cursor } = await page(other);
      const { devices } = await page(await onDevice(), next_cursor);
      expect(devices).toEqual([]);
    });

    it('are listed 600 times a minute and user at most, while RATE_LIMIT is on', async () => {
      const limited = await startTestService({
        ...provider.env(),
        DATABASE_URL: service.databaseUrl,
        PUBLIC_URL: service.url,
        RATE_LIMIT: 'on',
        TRUST_PROXY: 'false',
      });
      try {
        const [tokens, other] = [await onDevice(), await signIn(service.url, randomUUID())];
        const list = ({ access_token }: Tokens) => bearer(limited.url, access_token).get('/devices');
        await list(tokens).expect(200);
        const limits = limited.app.get(RateLimits);
        for (let i = 1; i < 599; i++) await limits.countUser('read', tokens.user_id);
        await list(tokens).expect(200);
        const refused = await list(tokens).expect(429);
        expect(refused.headers['retry-after']).toMatch(/^\d+$/);
        await list(other).expect(200);
        await bearer(limited.url, tokens.access_token).post('/sign-out').expect(204);
      } finally {
        await limited.close();
      }
    });
  });

  it('PATCH renames a device; foreign members are ignored', async () => {
    const device = randomUUID();
    const tokens = await onDevice(device, { device_name: 'Old', user_agent: 'UA' });
    const { body } = await as(tokens)
      .patch(`/devices/${device.toUpperCase()}`, {
        device_name: 'Neu ✨',
        user_agent: 'forged',
        user_id: randomUUID(),
      })
      .expect(200);
    expect(body).toMatchObject({ device_id: device, device_name: 'Neu ✨', user_agent: 'UA', current: true });
    expect((await devicesOf(tokens))[0]).toEqual(body);
  });

  it.each([
    [{}],
    [{ device_name: '' }],
    [{ device_name: ' ' }],
    [{ device_name: 'n'.repeat(129) }],
    [{ device_name: 7 }],
    [{ device_name: 'a\0' }],
  ])('PATCH refuses %j and changes nothing', async (body) => {
    const device = randomUUID();
    const tokens = await onDevice(device, { device_name: 'Old' });
    const before = await dump(service.databaseUrl);
    expect((await as(tokens).patch(`/devices/${device}`, body).expect(400)).body).toMatchObject({
      error: 'invalid_request',
    });
    expect(await dump(service.databaseUrl)).toBe(before);
  });

  it('DELETE signs the device out and forgets it; the others stay', async () => {
    const [mine, lost] = [randomUUID(), randomUUID()];
    const here = await onDevice(mine);
    const there = [await onDevice(lost), await onDevice(lost)];
    await as(here).delete(`/devices/${lost}`).expect(204, {});
    for (const tokens of there) {
      await as(tokens).get('/me').expect(401);
      await request(service.url).post('/oauth2/refresh').send(tokens).expect(401);
    }
    expect((await devicesOf(here)).map(({ device_id }) => device_id)).toEqual([mine]);
    await request(service.url).post('/oauth2/refresh').send(here).expect(200);
    await as(here).delete(`/devices/${mine}`).expect(204);
    await as(here).get('/devices').expect(401);
  });

  it('two users with the same device id have a device each; the other’s is answered like one that does not exist', async () => {
    const shared = randomUUID();
    const own = await onDevice(shared, { device_name: 'Mine' });
    const other = await signIn(service.url, randomUUID(), { device_id: shared, device_name: 'Theirs' });
    const foreign = randomUUID();
    await signIn(service.url, randomUUID(), { device_id: foreign });

    await as(own).patch(`/devices/${shared}`, { device_name: 'Changed' }).expect(200);
    expect((await devicesOf(other))[0]).toMatchObject({ device_name: 'Theirs' });

    const nothing = randomUUID();
    for (const method of ['patch', 'delete'] as const) {
      const [toForeign, toNothing] = [
        await as(own)[method](`/devices/${foreign}`, { device_name: 'x' }).expect(404),
        await as(own)[method](`/devices/${nothing}`, { device_name: 'x' }).expect(404),
      ];
      expect(toForeign.body).toEqual(toNothing.body);
      expect(toForeign.body).toMatchObject({ error: 'not_found' });
    }
    await as(own).delete(`/devices/${shared}`).expect(204);
    expect(await devicesOf(other)).toHaveLength(1);
  });

  it.each(['x', '..%2f..%2fme', `${randomUUID()}%00`, '%FF', "'%20OR%201=1--"])(
    'the id %s names no device, and changes nothing',
    async (id) => {
      const tokens = await onDevice();
      const before = await dump(service.databaseUrl);
      for (const call of [
        as(tokens).delete(`/devices/${id}`),
        as(tokens).patch(`/devices/${id}`, { device_name: 'x' }),
      ]) {
        const { status, body } = await call;
        expect([400, 404]).toContain(status);
        expect(body).toEqual({
          error: expect.stringMatching(/^(not_found|invalid_request)$/),
          error_description: expect.any(String),
        });
      }
      expect(await dump(service.databaseUrl)).toBe(before);
    },
  );

  it.each(['with', 'without'])(
    'a session %s a device, its device and its user get the time of their last use, at most once a minute',
    async (kind) => {
      const lastSeen = service.app.get(LastUseWriter);
      const tokens = kind === 'with' ? await onDevice() : await signIn(service.url, user);
      const { user_id: userId } = tokens;
      const columns = [
        ['refresh_tokens', 'last_used_at'],
        ['users', 'last_seen_at'],
        ...(kind === 'with' ? [['devices', 'last_seen_at']] : []),
      ] as const;
      const age = (minutes: number) =>
        Promise.all(
          columns.map(([table, column]) =>
            query(
              service.databaseUrl,
              `UPDATE ${table} SET ${column} = now() - $2 * interval '1 minute' WHERE user_id = $1`,
              [userId, minutes],
            ),
          ),
        );
      /** Seconds since the last use that was written. */
      async function seen(): Promise<number[]> {
        await lastSeen.write();
        const select = columns.map(
          ([table, column]) =>
            `SELECT extract(epoch FROM now() - ${column})::float8 AS seconds FROM ${table} WHERE user_id = $1`,
        );
        const rows = await query<{ seconds: number }>(service.databaseUrl, select.join(' UNION ALL '), [
          userId,
        ]);
        expect(rows).toHaveLength(columns.length);
        return rows.map(({ seconds }) => seconds);
      }
      const each = (seconds: unknown): unknown[] => columns.map(() => seconds);
      const isRecent = expect.closeTo(0, -2) as unknown; // 50 s
      const refresh = () => request(service.url).post('/oauth2/refresh').send(tokens).expect(200);

      await seen(); // the sign-in
      await age(0.5);
      await refresh();
      for (const seconds of await seen()) expect(seconds).toBeGreaterThan(25);

      await age(10);
      await refresh();
      expect(await seen()).toEqual(each(isRecent));

      await age(10);
      await as(tokens).get('/me').expect(200);
      expect(await seen()).toEqual(each(isRecent));

      // A forged refresh token with the ids of a session is no use of that session.
      await age(10);
      const { sid, device_id: deviceId = null } = claimsOf(tokens.access_token) as { sid: string; device_id?: string }; // oxfmt-ignore
      const made = makeRefreshToken({ userId, sessionId: sid, deviceId });
      await request(service.url).post('/oauth2/refresh').send({ refresh_token: made }).expect(401);
      for (const seconds of await seen()) expect(seconds).toBeGreaterThan(500);

      // A sign-in is a use of the user.
      await signIn(service.url, user);
      await lastSeen.write();
      const { body } = await bearer(service.url, SERVICE_KEY).get(`/users/${userId}`).expect(200);
      const { last_seen_at: lastSeenAt } = body as { last_seen_at: string };
      expect((Date.now() - Date.parse(lastSeenAt)) / 1000).toEqual(isRecent);
    },
  );
});
