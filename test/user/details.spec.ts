import { randomUUID } from 'node:crypto';
import { until } from '../support/waiting.js';
import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { useService } from '../support/use.js';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const LOOPBACK = /^(127\.0\.0\.1|::1)$/;
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';

interface Detail {
  readonly devices: Record<string, unknown>[];
  readonly sessions: (Record<string, unknown> & { readonly session_id: string })[];
  readonly live_sessions: number;
  readonly online: boolean;
}

/** What the support sees of a user, and ends. */
describe('a user, by service key', () => {
  let user: string;

  const { provider, service } = useService({ SERVICE_KEYS: SERVICE_KEY });
  beforeEach(() => {
    user = randomUUID();
  });

  const backend = () => bearer(service.url, SERVICE_KEY);
  const detail = async ({ user_id }: Pick<Tokens, 'user_id'>): Promise<Detail> =>
    (await backend().get(`/users/${user_id}`).expect(200)).body as Detail;
  const sessionOf = ({ access_token }: Tokens): string => (claimsOf(access_token) as { sid: string }).sid;

  it('is shown with devices and sessions, and the user’s own list says the same of the devices', async () => {
    const email = `${user}@Example.com`;
    provider.answerWith(200, { provider_user_id: user, username: 'Ada Lovelace', email });
    const device_id = randomUUID();
    const tokens = await signIn(service.url, user, { device_id, device_name: 'Laptop', user_agent: CHROME });
    const without = await signIn(service.url, user);
    provider.reset();
    const socket = await SocketClient.connect(service.url, tokens.access_token);
    await until(async () => (await detail(tokens)).online);
    const looks = { user_agent: CHROME, browser: 'Chrome 156', os: 'Windows 10/11' };
    const device = {
      device_id,
      device_name: 'Laptop',
      ...looks,
      address: expect.stringMatching(LOOPBACK),
      created_at: expect.stringMatching(TIME),
      last_seen_at: expect.stringMatching(TIME),
      signed_in: true,
      online: true,
    };
    const session = {
      session_id: sessionOf(tokens),
      device_id,
      provider: 'stub',
      created_at: expect.stringMatching(TIME),
      last_used_at: expect.stringMatching(TIME),
      expires_at: expect.stringMatching(TIME),
      idle_expires_at: null,
      ends_because: 'lifetime',
      bound: false,
      auth_time: null,
      address: expect.stringMatching(LOOPBACK),
      ...looks,
      online: true,
    };
    const found = await detail(tokens);
    expect(found).toEqual({
      user_id: tokens.user_id,
      provider: 'stub',
      provider_user_id: user,
      username: 'Ada Lovelace',
      email,
      avatar_url: null,
      claims: {},
      suspended_at: null,
      directory: null,
      created_at: expect.stringMatching(TIME),
      last_seen_at: expect.stringMatching(TIME),
      online: true,
      live_sessions: 2,
      devices: [device],
      sessions: expect.arrayContaining([
        session,
        expect.objectContaining({ session_id: sessionOf(without), device_id: null, online: false }),
      ]),
    });
    const { body: own } = await bearer(service.url, tokens.access_token).get('/devices').expect(200);
    expect(own).toEqual({ devices: [{ ...device, current: true }] });
    const { body: devices } = await backend().get(`/users/${tokens.user_id}/devices`).expect(200);
    expect(devices).toEqual({ devices: [device] });
    for (const parameters of [`q=${user}@ex`, `email=${email.toUpperCase()}`]) {
      const { body } = await backend().get(`/users?${parameters}`).expect(200);
      const { devices: _devices, sessions: _sessions, ...listed } = found as Detail & object;
      expect(body).toEqual({ users: [{ ...listed, last_seen_at: expect.stringMatching(TIME) }] });
    }
    socket.close();
  });

  it('is signed out by session, by the provider’s id, or by an e-mail address that nobody else has', async () => {
    const email = `${user}@example.com`;
    const begin = async (name = user, address = email) => {
      provider.answerWith(200, { provider_user_id: name, email: address });
      const tokens = await signIn(service.url, name, { device_id: randomUUID() });
      provider.reset();
      return tokens;
    };
    const mine = [await begin(), await begin(), await begin()] as const;
    const signOut = (body: object) => backend().post(`/users/${mine[0].user_id}/sign-out`, body);
    const alive = async () => (await detail(mine[0])).sessions.map(({ session_id: id }) => id).toSorted();
    await signOut({ session_id: sessionOf(mine[0]).toUpperCase() }).expect(200, { sessions: 1 });
    await bearer(service.url, mine[0].access_token).get('/me').expect(401);
    expect(await alive()).toEqual([sessionOf(mine[1]), sessionOf(mine[2])].toSorted());
    await signOut({ session_id: sessionOf(mine[0]) }).expect(200, { sessions: 0 });
    for (const unknown of [{ session_id: randomUUID() }, { device_id: randomUUID() }]) {
      expect((await signOut(unknown).expect(404)).body).toMatchObject({ error: 'not_found' });
    }
    await signOut({ session_id: sessionOf(mine[1]), device_id: randomUUID() }).expect(400);
    await signOut({ session_id: 'x' }).expect(400);

    const find = (body: object) => backend().post('/users/sign-out', body);
    await find({ email: email.toUpperCase() }).expect(200, { sessions: 2 });
    await find({ email }).expect(200, { sessions: 0 });
    await begin(randomUUID()); // another user has this address, too
    // With the sign of kelvin, an address belongs to another user.
    await begin(randomUUID(), `\u212a${email}`);
    await find({ email: `k${email}` }).expect(400);
    await begin(randomUUID(), `k${email}`);
    await find({ email: `K${email.toUpperCase()}` }).expect(200, { sessions: 1 });
    await find({ email: `\u212a${email}` }).expect(200, { sessions: 1 });
    for (const address of [email, 'nobody@example.com']) {
      expect((await find({ email: address }).expect(400)).body).toMatchObject({ error: 'invalid_request' });
    }
    const pair = { provider: 'stub', provider_user_id: user };
    for (const body of [{ ...pair, email }, { provider: 'stub', email }, { email: ' ' }, { email: '' }]) {
      await find(body).expect(400);
    }
    await find(pair).expect(200, { sessions: 0 });
  });

  it.each(['GET', 'devices', 'sessions', 'export'])(
    '%s: an unknown user is not found, other text is refused',
    async (part) => {
      const path = part === 'GET' ? '' : `/${part}`;
      expect((await backend().get(`/users/${randomUUID()}${path}`).expect(404)).body).toMatchObject({ error: 'not_found' }); // oxfmt-ignore
      await backend().get(`/users/x${path}`).expect(400);
      if (path && part !== 'export')
        await backend().get(`/users/${randomUUID()}${path}?cursor=x`).expect(400);
    },
  );

  it('with 450 sessions and 250 devices comes in pages, each once, newest use first', async () => {
    const tokens = await signIn(service.url, user);
    const { user_id: userId } = tokens;
    await query(
      service.databaseUrl,
      `INSERT INTO devices (user_id, device_id, last_seen_at)
       SELECT $1, gen_random_uuid(), now() - n / 2 * interval '1 minute' FROM generate_series(1, 250) AS n`,
      [userId],
    );
    await query(
      service.databaseUrl,
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, last_used_at)
       SELECT $1, gen_random_uuid(), '', now() + interval '1 day', now() - n / 2 * interval '1 minute' FROM generate_series(1, 449) AS n`,
      [userId],
    );
    // Neither is live, so neither is listed.
    await query(
      service.databaseUrl,
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, signed_out_at)
       VALUES ($1, gen_random_uuid(), '', now() - interval '1 second', NULL), ($1, gen_random_uuid(), '', now(), now())`,
      [userId],
    );
    const { live_sessions, devices, sessions } = await detail(tokens);
    expect([live_sessions, devices.length, sessions.length]).toEqual([450, 100, 100]);
    const times = { devices: 'last_seen_at', sessions: 'last_used_at' } as const;
    for (const part of ['devices', 'sessions'] as const) {
      const all: Record<string, unknown>[] = [];
      let cursor = '';
      do {
        const { body } = await backend().get(`/users/${userId}/${part}${cursor && `?cursor=${cursor}`}`).expect(200); // oxfmt-ignore
        const page = body as Detail & { next_cursor?: string };
        if (all.length === 0) expect(page[part]).toEqual(part === 'devices' ? devices : sessions);
        all.push(...page[part]);
        cursor = page.next_cursor ?? '';
      } while (cursor !== '');
      const ids = all.map((one) => one[part === 'devices' ? 'device_id' : 'session_id']);
      expect([ids.length, new Set(ids).size]).toEqual(part === 'devices' ? [250, 250] : [450, 450]);
      const seen = all.map((one) => one[times[part]] as string);
      expect(seen).toEqual(seen.toSorted().toReversed());
    }
  });
});
