import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { signIn } from '../../../test/support/sign-in.js';
import { until } from '../../../test/support/waiting.js';
import { createVerifier, type AuditStreamEvent } from '../src/index.js';
import { use, useService } from '../../../test/support/use.js';

const KEY = 'a-key-of-the-team-for-users-of-32-characters';
const SUPPORT_KEY = 'a-key-of-the-team-for-support-of-32-characters';

/** `users` and `audit`, with the real service. */
describe('users and audit', () => {
  const warnings: string[] = [];

  const keys = `team=${KEY},desk=support:${SUPPORT_KEY}`;
  const { service } = useService({ SERVICE_KEYS: keys });
  const onWarning = (line: string): unknown => warnings.push(line);
  const verifier = use(() => createVerifier({ issuer: service.url, serviceKey: KEY, onWarning }));
  const support = use(() => createVerifier({ issuer: service.url, serviceKey: SUPPORT_KEY, onWarning }));

  const signedIn = (name: string, device_id = randomUUID()) =>
    signIn(service.url, name, {
      device_id,
      user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0 Safari/537.36',
    });

  it('finds users, by page and all of them', async () => {
    const names = ['find-1', 'find-2', 'find-3'];
    const ids: string[] = [];
    for (const name of names) ids.push((await signedIn(name)).user_id);
    const { users } = await verifier.users.find({ provider: 'stub', providerUserId: 'find-2' });
    expect(users).toEqual([
      {
        user_id: ids[1],
        provider: 'stub',
        provider_user_id: 'find-2',
        username: 'Ada',
        email: null,
        avatar_url: null,
        claims: {},
        suspended_at: null,
        directory: null,
        created_at: expect.any(String),
        last_seen_at: expect.any(String),
        online: false,
        live_sessions: 1,
      },
    ]);
    const found: string[] = [];
    for await (const { provider_user_id: id } of support.users.find({ limit: 1 })) found.push(id);
    expect(found.filter((id) => names.includes(id))).toEqual(names.toReversed());
    expect((await verifier.users.find({ q: ids[0]!, suspended: false })).users).toHaveLength(1);
    await expect(verifier.users.find({ cursor: 'none' })).rejects.toMatchObject({
      code: 'invalid_request',
      status: 400,
    });
  });

  it('creates a user before the first sign-in', async () => {
    const identity = { provider: 'stub', providerUserId: 'moves-in' };
    const created = await verifier.users.create({
      ...identity,
      email: 'm@example.com',
      claims: { plan: 'pro' },
    });
    expect(created).toMatchObject({ email: 'm@example.com', claims: { plan: 'pro' }, last_seen_at: null });
    expect(await verifier.users.create({ ...identity, claims: { plan: 'free' } })).toEqual(created);
    expect((await signedIn('moves-in')).user_id).toBe(created.user_id);
    await expect(verifier.users.create({ ...identity, provider: 'nobody' })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(support.users.create(identity)).rejects.toMatchObject({ code: 'service_key_refused' });
    await expect(verifier.users.create({ ...identity, mail: 'm@example.com' } as never)).rejects.toThrow(
      TypeError,
    );
  });

  it('returns a user with devices and sessions, and ends one session, one device and all', async () => {
    const devices = [randomUUID(), randomUUID(), randomUUID()];
    for (const device of devices) await signedIn('ada', device);
    const { user_id: id } = await signedIn('ada');
    const detail = await support.users.get(id);
    expect(detail).toMatchObject({ user_id: id, live_sessions: 4 });
    expect(detail.devices).toHaveLength(4);
    expect(detail.sessions[0]).toMatchObject({ browser: 'Chrome 156', os: 'Linux', bound: false });
    const listed: string[] = [];
    for await (const { device_id: device } of support.users.devices(id)) listed.push(device);
    expect(listed).toEqual(expect.arrayContaining(devices));
    const sessionId = (await support.users.sessions(id)).sessions.find(
      ({ device_id: one }) => one === devices[0],
    )!.session_id;

    expect(await support.users.signOut(id, { sessionId })).toEqual({ sessions: 1 });
    expect(await support.users.signOut(id, { deviceId: devices[1]! })).toEqual({ sessions: 1 });
    expect(await support.users.signOut({ provider: 'stub', providerUserId: 'ada' })).toEqual({ sessions: 2 });
    expect((await support.users.get(id)).live_sessions).toBe(0);
    await expect(support.users.signOut(randomUUID())).rejects.toMatchObject({
      code: 'not_found',
      status: 404,
    });
    await expect(support.users.signOut({ email: 'nobody@example.com' })).rejects.toMatchObject({
      status: expect.any(Number),
    });
  });

  it('suspends, restores and removes a user', async () => {
    const { user_id: id, access_token: token } = await signedIn('grace');
    expect((await verifier.users.suspend(id)).suspended_at).toEqual(expect.any(String));
    await expect(signedIn('grace')).rejects.toThrow('access_denied');
    await until(() =>
      verifier.verify(token).then(
        () => false,
        ({ status }: { status: number }) => status === 401,
      ),
    );
    expect((await verifier.users.restore(id))?.suspended_at).toBeNull();
    await signedIn('grace');
    expect(await verifier.users.remove(id)).toBeUndefined();
    await expect(verifier.users.get(id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(verifier.users.remove(id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('a suspended user who is removed stays out, until restored', async () => {
    const { user_id: id } = await signedIn('joan');
    await verifier.users.suspend(id);
    await verifier.users.remove(id);
    const ids: string[] = [];
    for await (const { user_id } of verifier.users.removed()) ids.push(user_id);
    expect(ids).toEqual([id]);
    await expect(signedIn('joan')).rejects.toThrow();
    expect(await verifier.users.restore(id)).toBeUndefined();
    expect((await verifier.users.removed()).users).toEqual([]);
    await signedIn('joan');
  });

  it('refuses what the key has no right to, with one warning', async () => {
    const { user_id: id } = await signedIn('linus');
    await expect(support.users.suspend(id)).rejects.toMatchObject({
      code: 'service_key_refused',
      status: 500,
    });
    expect(warnings).toEqual(expect.arrayContaining([expect.stringContaining('it has no right users')]));
    expect((await verifier.users.get(id)).suspended_at).toBeNull();
  });

  it('finds audit events, with the name of the key that caused them', async () => {
    const { user_id: id } = await signedIn('margaret');
    await verifier.users.suspend(id);
    const { events } = await support.audit.find({ userId: id });
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(['user_suspended', 'sign_in']));
    expect(events.find(({ event }) => event === 'user_suspended')).toMatchObject({
      result: 'ok',
      user_id: id,
      actor: { type: 'service_key', name: 'team' },
    });
    const signIns: string[] = [];
    for await (const { event } of verifier.audit.find({
      userId: id,
      event: 'sign_in',
      limit: 1,
      since: new Date(0),
    }))
      signIns.push(event);
    expect(signIns).toEqual(['sign_in']);
    expect((await verifier.audit.find({ userId: id, until: new Date(0) })).events).toEqual([]);
  });

  it('streams audit events, and continues where it ended', async () => {
    const { user_id: id } = await signedIn('katherine');
    const seen: AuditStreamEvent[] = [];
    const end = new AbortController();
    const follow = async (lastEventId: string | undefined, signal: AbortSignal): Promise<void> => {
      for await (const one of verifier.audit.stream({ lastEventId, signal }))
        if (one.data.user_id === id) seen.push(one);
    };
    const first = follow(undefined, end.signal);
    const device = randomUUID();
    await until(async () => {
      await signedIn('katherine', device); // the stream begins when it is open
      await delay(250);
      return seen.length > 0;
    });
    end.abort();
    await first;
    const last = seen.at(-1)!;
    expect(last.data).toMatchObject({ event: 'sign_in', result: 'ok', user_id: id });
    await verifier.users.suspend(id);
    const again = new AbortController();
    const second = follow(last.lastEventId, again.signal);
    await until(() => seen.some(({ data }) => data.event === 'user_suspended'));
    again.abort();
    await second;
    const ids = seen.map(({ data }) => data.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
