import { setTimeout as delay } from 'node:timers/promises';
import { signIn } from '../../../test/support/sign-in.js';
import { TcpProxy } from '../../../test/support/tcp-proxy.js';
import { until } from '../../../test/support/waiting.js';
import { createVerifier, type LatchkeyError, type Verifier } from '../src/index.js';
import { APIS, serve, type Api } from './support/apis.js';
import { SERVICE_KEY } from './support/fake-service.js';
import { use, useService } from '../../../test/support/use.js';

const SIGN_OUTS = 5;

/** An API in each framework, with the real service. */
describe('an API', () => {
  let apis: [string, Api][];
  afterAll(() => Promise.all((apis ?? []).map(([, api]) => api.close())));

  const { service } = useService({ SERVICE_KEYS: SERVICE_KEY });
  const verifier = use(() => createVerifier({ issuer: service.url, serviceKey: SERVICE_KEY }));
  beforeAll(async () => {
    apis = await Promise.all(
      Object.entries(APIS).map(async ([name, start]): Promise<[string, Api]> => [
        name,
        await serve(await start(verifier)),
      ]),
    );
    await until(() => verifier.isNotified);
  });

  let calls = 0;
  const call = ({ url }: Api, token?: string, path = '/orders') => {
    calls++;
    return fetch(url + path, { headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } });
  };

  const introspections = (): number =>
    service.log.filter((line) => line.includes('/oauth2/introspect')).length;
  /** On a busy machine the feed may be silent for so long that a few calls ask; without it, each would. */
  const expectFewIntrospections = (countBefore: number, callsBefore: number): void =>
    expect(introspections() - countBefore).toBeLessThan((calls - callsBefore) / 2);

  it.each(Object.keys(APIS))(
    '%s: lets a user in, and answers the others as the service does',
    async (name) => {
      const [, api] = apis.find(([one]) => one === name)!;
      const { access_token: token, user_id: userId } = await signIn(service.url);
      const good = await call(api, token);
      expect([good.status, await good.json()]).toEqual([200, { of: userId }]);
      for (const presented of [undefined, 'forged', `${token}x`]) {
        const [theirs, ours] = await Promise.all([
          call(api, presented),
          fetch(`${service.url}/me`, {
            headers: presented === undefined ? {} : { Authorization: `Bearer ${presented}` },
          }),
        ]);
        expect(theirs.status).toBe(401);
        expect(theirs.headers.get('www-authenticate')).toBe(ours.headers.get('www-authenticate'));
        expect(theirs.headers.get('content-type')).toMatch(/^application\/json/);
        const body = (await theirs.json()) as Record<string, unknown>;
        expect(Object.keys(body)).toEqual(['error', 'error_description']);
        expect(body['error']).toBe('invalid_token');
      }
    },
  );

  it('refuses a session that was signed out within a second, in every framework, and few calls ask', async () => {
    const before = [introspections(), calls] as const;
    const late = new Map(apis.map(([name]) => [name, 0]));
    let slowest = 0; // the measure for how late anything may be noticed here
    const one = async (): Promise<void> => {
      const { access_token: token } = await signIn(service.url);
      for (const [, api] of apis) expect((await call(api, token)).status).toBe(200);
      const headers = { Authorization: `Bearer ${token}` };
      await delay(Math.random() * 500); // at any time between two readings of the service
      const { status } = await fetch(`${service.url}/sign-out`, { method: 'POST', headers });
      expect(status).toBe(204);
      const signedOutAt = performance.now();
      const lastAccepted = apis.map(async ([name, api]) => {
        for (;;) {
          const began = performance.now();
          const { status: seen } = await call(api, token);
          slowest = Math.max(slowest, performance.now() - began);
          if (seen === 401) return;
          late.set(name, Math.max(late.get(name)!, began - signedOutAt));
          await delay(10);
        }
      });
      await Promise.all(lastAccepted);
    };
    await Promise.all(Array.from({ length: SIGN_OUTS }, one));
    for (const [name, ms] of late) expect([name, ms < 1000 + 3 * slowest]).toEqual([name, true]);
    expectFewIntrospections(...before);
  });

  /** A token that is issued now. */
  async function refreshed(refreshToken: string): Promise<string> {
    const answer = await fetch(`${service.url}/oauth2/refresh`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ refresh_token: refreshToken }),
    });
    return ((await answer.json()) as { access_token: string }).access_token;
  }

  it('gives and takes a role within a second, in every framework, though the token is older, and few calls ask', async () => {
    const before = [introspections(), calls] as const;
    const { access_token: token, refresh_token: refreshToken, user_id: userId } = await signIn(service.url);
    const statuses = () =>
      Promise.all(apis.map(async ([, api]) => (await call(api, token, '/admin')).status));
    expect(new Set(await statuses())).toEqual(new Set([403]));
    for (const [roles, expected] of [
      [['admin'], 200],
      [[], 403],
      [['owner'], 200],
      [['administrator'], 403],
    ] as const) {
      const { effective } = await verifier.users.setClaims(userId, { roles, plan: 'free' });
      const changedAt = performance.now();
      let [late, slowest] = [0, 0]; // the measure for how late anything may be noticed here
      for (;;) {
        const began = performance.now();
        const seen = await statuses();
        slowest = Math.max(slowest, performance.now() - began);
        if (seen.every((status) => status === expected)) break;
        late = began - changedAt;
        await delay(10);
      }
      expect(late).toBeLessThan(1000 + 3 * slowest);
      expect(effective).toEqual(roles.length > 0 ? { roles, plan: 'free' } : { plan: 'free' });
      // Also for an API without a service key, and for the next minutes: a token that was issued after the change.
      const fresh = await refreshed(refreshToken);
      const bySignature = createVerifier({ issuer: service.url });
      for (const one of [bySignature, verifier])
        expect(await one.verify(fresh)).toMatchObject({
          ...(roles.length > 0 && { roles }),
          claims: { plan: 'free' },
        });
    }
    expectFewIntrospections(...before);
    expect(await verifier.introspect(token)).toMatchObject({
      roles: ['administrator'],
      claims: { plan: 'free' },
    });
    expect(await verifier.users.claims(userId)).toEqual({
      claims: { roles: ['administrator'], plan: 'free' },
      provider_claims: {},
      effective: { roles: ['administrator'], plan: 'free' },
    });
    for (const claims of [{ sub: 'x' }, { roles: 7 }, { note: 'x'.repeat(5000) }, { ['x'.repeat(65)]: 1 }])
      await expect(verifier.users.setClaims(userId, claims)).rejects.toMatchObject({
        status: 400,
        code: 'invalid_request',
      });
    const nobody = '00000000-0000-4000-8000-000000000000';
    await expect(verifier.users.setClaims(nobody, {})).rejects.toMatchObject({ status: 404 });
  });

  it('knows a change that was made while the service could not be reached, once it can be', async () => {
    const proxy = await TcpProxy.before(service.url);
    const onWarning = (): void => undefined;
    const options = {
      issuer: service.url,
      url: `http://127.0.0.1:${proxy.port}`,
      serviceKey: SERVICE_KEY,
      onWarning,
    };
    const [asking, accepting] = [createVerifier(options), createVerifier({ ...options, whenAway: 'accept' })];
    const { access_token: token, user_id: userId } = await signIn(service.url);
    const rolesSeen = (by: Verifier) =>
      by.verify(token).then(
        ({ roles }) => roles ?? [],
        ({ status }: LatchkeyError) => status,
      );
    try {
      await verifier.users.setClaims(userId, { roles: ['admin'] });
      for (const one of [asking, accepting]) {
        await until(() => one.isNotified);
        await until(async () => String(await rolesSeen(one)) === 'admin');
      }
      await proxy.refuse();
      await until(() => !asking.isNotified && !accepting.isNotified);
      await verifier.users.setClaims(userId, { roles: ['reader'] });
      expect(await rolesSeen(asking)).toBe(503);
      expect(await rolesSeen(accepting)).toEqual(['admin']); // as its option says
      await proxy.restore();
      for (const one of [asking, accepting]) {
        await until(() => one.isNotified);
        expect(await rolesSeen(one)).toEqual(['reader']);
      }
    } finally {
      asking.close();
      accepting.close();
      await proxy.refuse();
    }
  });

  it('calls the service: pushes, asks about tokens, signs a user out, who is refused then', async () => {
    const {
      access_token: token,
      refresh_token: refreshToken,
      user_id: userId,
    } = await signIn(service.url, 'ada');
    const event = { userId, event: 'order.shipped', data: { id: 1 }, idempotencyKey: 'order-1' };
    const pushed = await verifier.push(event);
    expect(pushed).toEqual({ id: expect.any(String), offset: expect.any(Number), online: false });
    expect(await verifier.push(event)).toEqual(pushed);
    expect(await verifier.introspect(token)).toMatchObject({ active: true, sub: userId });
    expect(await verifier.introspect(refreshToken)).toEqual({ active: false });
    expect(await verifier.introspect(refreshToken, 'refresh_token')).toMatchObject({ active: true });
    await verifier.users.signOut({ provider: 'stub', providerUserId: 'ada' });
    await until(() =>
      verifier.verify(token).then(
        () => false,
        ({ status }: LatchkeyError) => status === 401,
      ),
    );
    await verifier.users.signOut(userId);
    const nobody = { userId: '00000000-0000-4000-8000-000000000000' };
    await expect(verifier.users.signOut(nobody.userId)).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
    });
    await expect(verifier.push({ ...nobody, event: 'x' })).rejects.toMatchObject({ status: 404 });
  });
});
