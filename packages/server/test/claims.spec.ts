import { randomUUID } from 'node:crypto';
import { until } from '../../../test/support/waiting.js';
import {
  createVerifier,
  requireClaim,
  requireRole,
  type Claims,
  type LatchkeyError,
  type UserClaims,
  type Verifier,
  type VerifierOptions,
} from '../src/index.js';
import { APIS, serve } from './support/apis.js';
import { claimsChanged, FakeService, SERVICE_KEY } from './support/fake-service.js';
import { useEach } from '../../../test/support/use.js';

/** The user's claims in `verify()`, and what an API requires of them (docs/guides/roles.md#in-your-api). */
describe('claims', () => {
  let verifiers: Verifier[];
  const user = randomUUID();
  /** Of a token that was issued a minute ago. */
  const old = {
    sub: user,
    iat: Math.floor(Date.now() / 1000) - 60,
    roles: ['admin'],
    claims: { plan: 'pro' },
  };
  afterEach(() => {
    for (const verifier of verifiers) verifier.close();
  });

  const service = useEach(() => FakeService.start());
  beforeEach(() => {
    verifiers = [];
  });

  function create(options: Partial<VerifierOptions> = {}): Verifier {
    const verifier = createVerifier({
      issuer: service.url,
      serviceKey: SERVICE_KEY,
      onWarning: () => undefined,
      ...options,
    });
    verifiers.push(verifier);
    return verifier;
  }
  async function createFresh(): Promise<Verifier> {
    const verifier = create();
    await until(() => verifier.isNotified);
    return verifier;
  }
  const pick = ({ roles, groups, entitlements, name, email, preferred_username, claims }: UserClaims) =>
    JSON.parse(
      JSON.stringify({ roles, groups, entitlements, name, email, preferred_username, claims }),
    ) as object;
  const verified = async (verifier: Verifier, token: string) => pick(await verifier.verify(token));

  it('are those of the feed for a token that was issued before the change, for a later one its own', async () => {
    const verifier = await createFresh();
    const [token, other] = [await service.token(old), await service.token({ ...old, sub: randomUUID() })];
    const had = { roles: ['admin'], claims: { plan: 'pro' } };
    expect(await verified(verifier, token)).toEqual(had);

    service.say(claimsChanged(user, { groups: ['staff'], name: 'Ada', seats: 3 }));
    await until(async () => !('roles' in (await verified(verifier, token))));
    expect(await verified(verifier, token)).toEqual({ groups: ['staff'], name: 'Ada', claims: { seats: 3 } });
    expect(await verified(verifier, other)).toEqual(had);
    const fresh = await service.token({ sub: user, roles: ['owner'] });
    expect(await verified(verifier, fresh)).toEqual({ roles: ['owner'] });

    const changedAt = (old.iat + 120) * 1000; // in the second of a token, which may have been issued before it
    service.say(claimsChanged(user, { roles: ['reader'] }, { changedAt }));
    const equal = await service.token({ sub: user, iat: old.iat + 120, roles: ['owner'] });
    await until(async () => JSON.stringify(await verified(verifier, equal)) === '{"roles":["reader"]}');

    service.say(claimsChanged(user, {}));
    await until(async () => Object.keys(await verified(verifier, token)).length === 0);
    expect((await verifier.verify(token)).sid).toBeDefined();
    expect(service.count('/oauth2/introspect')).toBe(0);
  });

  it('of the past are known to a reader that starts, and to one that was away', async () => {
    service.past = claimsChanged(user, {});
    const verifier = await createFresh();
    const token = await service.token(old);
    expect(await verified(verifier, token)).toEqual({});
    service.past = claimsChanged(user, { roles: ['editor'] }); // what changed meanwhile
    for (const stream of service.streams) stream.destroy();
    await until(() => service.cursors.length === 2 && verifier.isNotified);
    expect(await verified(verifier, token)).toEqual({ roles: ['editor'] });
  });

  it.each([
    ['no claims', 'claims'],
    ['no user', 'user_id'],
    ['a time that is none', 'changed_at'],
    ['no end', 'until'],
  ])(
    'an event with %s: the connection counts as broken, since a change may be lost',
    async (_name, member) => {
      const verifier = await createFresh();
      service.say(claimsChanged(user, {}).replace(`"${member}"`, '"other"'));
      await until(() => service.cursors.length === 2 && verifier.isNotified);
    },
  );

  it('are those of introspection while the feed is away, and of the feed once it is back', async () => {
    service.introspect = (_, response) =>
      response.end(JSON.stringify({ active: true, roles: ['editor'], claims: { plan: 'free' } }));
    service.past = claimsChanged(user, { roles: ['reader'] });
    service.talks = false; // events, but no `ready`
    const [asking, accepting] = [create(), create({ whenAway: 'accept' })];
    const token = await service.token(old);
    expect(await verified(asking, token)).toEqual({ roles: ['editor'], claims: { plan: 'free' } });
    await until(async () => !('claims' in (await verified(accepting, token)))); // what it knows
    expect(await verified(accepting, token)).toEqual({ roles: ['reader'] });
    await expect(create({ whenAway: 'refuse' }).verify(token)).rejects.toMatchObject({ status: 503 });

    service.talks = true;
    for (const stream of service.streams) stream.destroy();
    await until(() => asking.isNotified);
    expect(await verified(asking, token)).toEqual({ roles: ['reader'] });
  });

  it.each<[string, Record<string, unknown>]>([
    ['a text that contains the role', { roles: 'administrator' }],
    ['the role as a text', { roles: 'admin' }],
    ['an object', { roles: { 0: 'admin', includes: 'admin', length: 1 } }],
    ['a list with other things', { roles: [['admin'], { admin: true }, null] }],
    ['a list with the role among other things', { roles: [1, 'admin'] }],
    ['a list in the wrong place', { claims: { roles: ['admin'] } }],
    ['claims that are a list', { claims: ['admin'] }],
    ['another case', { roles: ['Admin', 'admin ', ''] }],
    ['none', {}],
  ])('roles that are %s give no role', async (_name, claims) => {
    const without = createVerifier({ issuer: service.url });
    const got = await without.verify(await service.token(claims));
    expect(() => requireRole('admin')(got)).toThrow('insufficient_scope');
    expect(Array.isArray(got.roles ?? [])).toBe(true);
    expect(got.claims?.['0']).toBeUndefined();
  });

  it('with names of prototypes change no prototype, and inherited members are no claims', async () => {
    const verifier = await createFresh();
    const token = await service.token(old);
    const changed = claimsChanged(user, { x: { roles: ['admin'] }, constructor: 'pro' });
    service.say(changed.replace('"x"', '"__proto__"'));
    await until(async () => !('roles' in (await verified(verifier, token))));
    const got = await verifier.verify(token);
    expect(Object.getPrototypeOf(got.claims)).toBe(Object.prototype);
    expect(Object.keys(got.claims!).toSorted()).toEqual(['__proto__', 'constructor']);
    expect(({} as UserClaims).roles).toBeUndefined();
    expect(() => requireRole('admin')(got)).toThrow('insufficient_scope');
    expect(() => requireClaim('constructor', 'pro')(got)).not.toThrow();
    // oxlint-disable-next-line no-extend-native -- what another package may do
    Object.defineProperty(Object.prototype, 'inherited', { value: 'pro', configurable: true });
    try {
      for (const name of ['inherited', 'constructor', '__proto__'])
        expect(() => requireClaim(name, 'pro')({ ...got, claims: {} })).toThrow('insufficient_scope');
    } finally {
      Reflect.deleteProperty(Object.prototype, 'inherited');
    }
  });

  it('of the largest kind arrive', async () => {
    const claims = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`claim-${i}`, 'ü'.repeat(40)]));
    const without = createVerifier({ issuer: service.url });
    expect(await verified(without, await service.token({ claims }))).toEqual({ claims });
  });

  it('are required by name and value; a mistake in the requirement fails at the start', () => {
    const claims: UserClaims = {
      groups: ['staff'],
      email: 'a@b.c',
      claims: { seats: 3, beta: true, none: null },
    };
    for (const [name, value] of [
      ['groups', 'staff'],
      ['email', 'a@b.c'],
      ['seats', 3],
      ['beta', true],
    ] as const)
      expect(() => requireClaim(name, value)(claims)).not.toThrow();
    for (const [name, value] of [
      ['groups', 'sta'],
      ['email', 'a'],
      ['seats', '3'],
      ['beta', 'true'],
      ['none', false],
      ['claims', 'seats'],
    ] as const)
      expect(() => requireClaim(name, value)(claims)).toThrow('insufficient_scope');
    const missing = undefined as unknown as string;
    for (const mistake of [
      () => requireRole(missing),
      () => requireRole('admin', missing),
      () => requireRole(''),
      () => requireRole(...([] as unknown as [string])),
      () => requireClaim('plan', missing),
      () => requireClaim(missing, 'pro'),
      () => requireRole('admin')(undefined as unknown as Claims), // without authenticate()
    ])
      expect(mistake).toThrow(TypeError);
  });

  it.each(Object.entries(APIS))('%s: 403 without the role or the claim', async (_name, start) => {
    let handled = 0;
    const observer = { call: () => void handled++, error: () => undefined };
    const claims: Record<string, object> = {
      none: {},
      text: { roles: 'administrator' },
      admin: { roles: ['reader', 'admin'] },
      owner: { roles: ['owner'], claims: { plan: 'free' } },
      pro: { claims: { plan: 'pro' } },
    };
    const api = await serve(
      await start(
        {
          authenticate: async ({ headers }) => {
            const { authorization } = headers as { authorization: string };
            const value = authorization ?? (headers as Headers).get('authorization');
            return { sub: 'ada', ...claims[value] } as Claims;
          },
        },
        observer,
      ),
    );
    try {
      const statusOf = async (path: string, who: string) => {
        const answer = await fetch(api.url + path, { headers: { authorization: who } });
        if (answer.status !== 403) return answer.status;
        expect(answer.headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope"');
        expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
        expect(await answer.json()).toEqual({
          error: 'insufficient_scope',
          error_description: 'the user does not have the right to do this',
        });
        return 403;
      };
      const table = await Promise.all(
        Object.keys(claims).map(async (who) => [
          who,
          await statusOf('/orders', who),
          await statusOf('/admin', who),
          await statusOf('/pro', who),
        ]),
      );
      expect(table).toEqual([
        ['none', 200, 403, 403],
        ['text', 200, 403, 403],
        ['admin', 200, 200, 403],
        ['owner', 200, 200, 403],
        ['pro', 200, 403, 200],
      ]);
      expect(handled).toBeGreaterThanOrEqual(7);
    } finally {
      await api.close();
    }
  });

  it('that were refused: the error says nothing of the claims', async () => {
    const token = await service.token({ roles: ['secret-role'] });
    const claims = await createVerifier({ issuer: service.url }).verify(token);
    let error: LatchkeyError | undefined;
    try {
      requireRole('admin')(claims);
    } catch (reason) {
      error = reason as LatchkeyError;
    }
    expect(error).toMatchObject({ status: 403, code: 'insufficient_scope' });
    expect(JSON.stringify([error, String(error), error!.body])).not.toMatch(/secret-role|admin/);
  });
});
