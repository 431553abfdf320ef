import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import request from 'supertest';
import { type Claims, Employee, GRANT, idJagEnv, now } from './assertions.js';
import { Agent, AGENT_SECRET, AGENTS_CONTENT, agentsFile, AGENTS, API, OTHER_API } from './agent.js';
import { assertionOf, DocumentHost } from './document-host.js';
import { storedEvents } from '../support/audit.js';
import { createDatabase, query } from '../support/database.js';
import { ClientKey } from '../support/dpop.js';
import { OidcIssuer, TamperingProxy } from '../support/oidc-issuer.js';
import { OpenIdStub } from '../support/openid-stub.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { latchkeyCommand } from '../support/service-process.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { use } from '../support/use.js';
import { until } from '../support/waiting.js';

describe('a program that the provider of a user allows (ID-JAG)', () => {
  const host = use(() => DocumentHost.start());
  const issuer = use(() => OpenIdStub.start());
  const proxy = use(() => TamperingProxy.start());
  const real = use(() => OidcIssuer.behind(proxy));
  const env = () => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    ...idJagEnv('CORP', issuer.url),
    ...idJagEnv('REAL', proxy.url),
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile({ ...AGENTS_CONTENT, trust: ['127.0.0.1'] }),
  });
  const service = use(() => startTestService(env()));
  let person: Employee;
  beforeEach(() => {
    issuer.reset();
    person = new Employee(issuer, service.url);
  });

  const assertion: Employee['assertion'] = (...parts) => person.assertion(...parts);
  const exchange: Employee['exchange'] = (...parts) => person.exchange(...parts);
  const exchanged = async (claims?: Claims): Promise<string> =>
    (await exchange(assertion(claims)).expect(200)).body.access_token as string;
  const isActive = async (token: string): Promise<boolean> => {
    const asked = bearer(service.url, SERVICE_KEY).post('/oauth2/introspect', { token });
    return (await asked.expect(200)).body.active as boolean;
  };
  const signedIn = (claims?: Claims): Promise<Tokens> => person.signIn(claims);
  const reasons = async (): Promise<unknown[]> =>
    (await storedEvents(service.databaseUrl))
      .filter(({ event }) => event === 'sign_in_refused')
      .map(({ reason }) => reason);

  it('gets a token for one API, and no refresh token; a person whom nobody knew is there then', async () => {
    const authTime = now() - 100;
    const { body } = await exchange(assertion({ auth_time: authTime, amr: ['mfa'] })).expect(200);
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'orders:read',
    });
    const claims = claimsOf(body.access_token);
    expect(claims).toMatchObject({ aud: API, client_id: 'secret-agent', scope: 'orders:read' });
    expect(claims).toMatchObject({ device_id: expect.stringMatching(/^a6e17000-/), auth_time: authTime });
    expect(claims).not.toHaveProperty('amr');
    expect(await isActive(body.access_token)).toBe(true);
    const user = await bearer(service.url, SERVICE_KEY)
      .get(`/users/${String(claims['sub'])}`)
      .expect(200);
    expect(user.body).toMatchObject({
      provider: 'corp',
      provider_user_id: person.sub,
      email: `${person.sub}@corp.example`,
      devices: [{ device_name: 'Secret Agent', signed_in: true, agent: { allowed_by: 'corp' } }],
    });
    const events = await storedEvents(service.databaseUrl);
    expect(events.filter(({ user_id: id }) => id === claims['sub'])).toMatchObject([
      { event: 'agent_allowed', provider: 'corp', actor: { type: 'provider', name: 'corp' } },
    ]);
  });

  it('is accepted with the keys that a real provider publishes', async () => {
    const token = assertion({ iss: proxy.url }, {}, real.key);
    expect((await exchange(token).expect(200)).body).toMatchObject({ scope: 'orders:read' });
  });

  it.each<[string, () => string, Claims, string]>([
    ['aud with a slash', () => assertion({ aud: `${service.url}/` }), {}, 'orders:read'],
    ['aud as a list of one', () => assertion({ aud: [service.url] }), {}, 'orders:read'],
    ['resource as a list of one', () => assertion({ resource: [`${API}/`] }), {}, 'orders:read'],
    ['no scope', () => assertion({ resource: OTHER_API, scope: undefined }), {}, 'notes:read'],
    ['unknown scopes', () => assertion({ scope: 'openid x orders:write' }), {}, 'orders:write'],
    ['iat a little ahead', () => assertion({ iat: now() + 30 }), {}, 'orders:read'],
    ['the same resource beside it', () => assertion(), { resource: API }, 'orders:read'],
  ])('may have %s', async (_what, make, more, scope) => {
    expect((await exchange(make(), more).expect(200)).body).toMatchObject({ scope });
  });

  it.each<[string, () => string, string]>([
    ['another typ', () => assertion({}, { typ: 'JWT' }), 'typ is another'],
    ['no typ', () => assertion({}, { typ: undefined }), 'typ is another'],
    ['no algorithm', () => assertion({}, { alg: 'none' }), ''],
    ['a shared secret', () => assertion({}, { alg: 'HS256' }), ''],
    ['another issuer', () => assertion({ iss: 'https://idp.example' }), 'iss is of no provider'],
    ['no issuer', () => assertion({ iss: undefined }), 'iss is of no provider'],
    ['the key of another provider', () => assertion({}, {}, real.key), 'signature verification failed'],
    ['the issuer of another provider', () => assertion({ iss: proxy.url }), 'signature verification failed'],
    ['another audience', () => assertion({ aud: 'https://other.example' }), '"aud"'],
    ['several audiences', () => assertion({ aud: [service.url, API] }), 'aud has several values'],
    ['another client', () => assertion({ client_id: 'web-agent' }), 'client_id is not the client'],
    ['no client', () => assertion({ client_id: undefined }), 'client_id is not the client'],
    ['no sub', () => assertion({ sub: undefined }), 'sub or jti is missing'],
    ['a sub that is too long', () => assertion({ sub: 'x'.repeat(256) }), 'sub or jti is missing'],
    ['no jti', () => assertion({ jti: undefined }), 'sub or jti is missing'],
    ['no resource', () => assertion({ resource: undefined }), 'resource is not one API'],
    ['another resource', () => assertion({ resource: 'https://x.example' }), 'resource is not one API'],
    ['two resources', () => assertion({ resource: [API, OTHER_API] }), 'resource is not one API'],
    ['unknown scopes alone', () => assertion({ scope: 'orders:delete' }), 'scope has none'],
    ['a scope that is no text', () => assertion({ scope: ['orders:read'] }), 'scope has none'],
    ['details', () => assertion({ authorization_details: [] }), 'authorization_details is not known'],
    ['no iat', () => assertion({ iat: undefined }), 'iat or exp is missing'],
    ['iat far ahead', () => assertion({ iat: now() + 3600, exp: now() + 3660 }), 'valid for too long'],
    ['no exp', () => assertion({ exp: undefined }), 'iat or exp is missing'],
    ['exp in the past', () => assertion({ iat: now() - 300, exp: now() - 61 }), '"exp"'],
    ['a long life', () => assertion({ iat: now() - 60, exp: now() + 541 }), 'valid for too long'],
    ['a key without a proof', () => assertion({ cnf: { jkt: 'x' } }), 'cnf is of a key'],
    ['another confirmation', () => assertion({ cnf: { 'x5t#S256': 'x' } }), 'cnf is of a key'],
    ['text', () => 'x.y.z', 'iss is of no provider'],
  ])('is refused with %s, and only the trail says why', async (_what, make, reason) => {
    const before = (await reasons()).length;
    const refused = await exchange(make()).expect(401);
    expect(refused.body).toEqual({
      error: 'invalid_grant',
      error_description: 'the assertion is not valid here',
    });
    await until(async () => (await reasons()).length > before, 'the refusal is stored');
    expect((await reasons()).at(-1)).toContain(reason);
    const known = 'SELECT FROM users WHERE provider_user_id = $1';
    expect(await query(service.databaseUrl, known, [person.sub])).toEqual([]);
  });

  it.each<[string, () => Claims, string]>([
    ['no secret', () => ({ client_secret: undefined }), 'invalid_client'],
    ['another secret', () => ({ client_secret: 'wrong' }), 'invalid_client'],
    ['no client', () => ({ client_id: undefined, client_secret: undefined }), 'invalid_client'],
    ['a client without a secret', () => ({ client_id: 'web-agent' }), 'invalid_client'],
    ['an unknown client', () => ({ client_id: 'unknown' }), 'invalid_client'],
    ['another resource beside it', () => ({ resource: OTHER_API }), 'invalid_target'],
    ['no assertion', () => ({ assertion: undefined }), 'invalid_request'],
  ])('is refused with %s, and the assertion stays good', async (_what, more, error) => {
    const token = assertion();
    expect((await exchange(token, more()).expect(400)).body).toMatchObject({ error });
    await exchange(token).expect(200);
  });

  it('may prove itself by the key of its document', async () => {
    host.document = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: host.keysAddress };
    const own = () => ({
      client_id: undefined,
      client_secret: undefined,
      ...assertionOf(host.clientId, service.url, host.key),
    });
    const token = assertion({ client_id: host.clientId });
    const { body } = await exchange(token, own()).expect(200);
    expect(claimsOf(body.access_token)).toMatchObject({ client_id: host.clientId });
    expect((await exchange(assertion(), own()).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('proves the key that an assertion is bound to', async () => {
    const key = new ClientKey();
    const cnf = { jkt: key.thumbprint.toString('base64url') };
    const url = `${service.url}/oauth2/token`;
    await exchange(assertion({ cnf })).set('DPoP', new ClientKey().proof(url)).expect(401);
    await exchange(assertion({ cnf })).set('DPoP', key.proof(url)).expect(200);
  });

  it('uses an assertion once, on any instance', async () => {
    const another = await service.another();
    try {
      for (const isKnown of [false, true]) {
        if (isKnown) await exchanged();
        const once = assertion();
        const urls = [service.url, another.url, service.url, another.url];
        const answers = await Promise.all(urls.map((url) => exchange(once, {}, url)));
        const codes = answers.map(({ status }) => status).toSorted((one, other) => one - other);
        expect(codes).toEqual([200, 401, 401, 401]);
        await exchange(once, {}, another.url).expect(401);
      }
    } finally {
      await another.close();
    }
  });

  it('takes the same jti of two providers', async () => {
    const jti = randomUUID();
    await exchange(assertion({ jti })).expect(200);
    await exchange(assertion({ jti, iss: proxy.url }, {}, real.key)).expect(200);
    await exchange(assertion({ jti })).expect(401);
  });

  it('has one session for all exchanges, also for several at once, which lasts as long as the last token', async () => {
    const another = await service.another();
    const urls = [service.url, another.url, service.url, another.url];
    const first = await Promise.all(
      urls.map(async (url) => (await exchange(assertion(), {}, url).expect(200)).body.access_token as string),
    );
    await another.close();
    await query(
      service.databaseUrl,
      `UPDATE refresh_tokens SET expires_at = now() + interval '60 s' WHERE session_id = $1`,
      [claimsOf(first[0]!)['sid']],
    );
    const all = [...first, await exchanged({ scope: 'orders:write' })];
    expect(new Set(all.map((token) => claimsOf(token)['sid'])).size).toBe(1);
    expect(await Promise.all(all.map(isActive))).toEqual(all.map(() => true));
    const { sid, exp } = claimsOf(all.at(-1)!);
    const [row] = await query<{ expires: number; scope: string; live: number }>(
      service.databaseUrl,
      `SELECT extract(epoch FROM t.expires_at)::int AS expires, d.scope,
         (SELECT count(*)::int FROM refresh_tokens l WHERE l.user_id = t.user_id AND l.signed_out_at IS NULL) AS live
       FROM refresh_tokens t JOIN agent_devices d USING (user_id, session_id) WHERE t.session_id = $1`,
      [sid],
    );
    expect(row).toEqual({ expires: exp, scope: 'orders:write', live: 1 });
  });

  it('begins a new session after the last token', async () => {
    const first = await exchanged();
    const old = `UPDATE refresh_tokens SET expires_at = now() - interval '1 s' WHERE session_id = $1`;
    await query(service.databaseUrl, old, [claimsOf(first)['sid']]);
    const next = await exchanged();
    expect(claimsOf(next)['sid']).not.toBe(claimsOf(first)['sid']);
    expect(claimsOf(next)['device_id']).toBe(claimsOf(first)['device_id']);
    expect(await isActive(next)).toBe(true);
  });

  it('changes nothing of what the last sign-in has said of the user', async () => {
    const phone = await signedIn({ roles: ['editor'], name: 'Ada' });
    const read = async () =>
      (await bearer(service.url, SERVICE_KEY).get(`/users/${phone.user_id}`).expect(200)).body as Claims;
    const { username, email, claims } = await read();
    const token = await exchanged({ name: 'Somebody', roles: ['admin'] });
    expect(claimsOf(token)).toMatchObject({ sub: phone.user_id, roles: ['editor'] });
    expect(await read()).toMatchObject({ username, email, claims });
    expect(claims).toEqual({ roles: ['editor'] });
  });

  describe('that a person has ended', () => {
    const later = () => ({ iat: now() + 2 }); // than the end, by the provider's clock
    it.each<[string, (phone: Tokens, deviceId: string) => PromiseLike<unknown>]>([
      [
        'by removal of the device',
        (phone, id) => bearer(service.url, phone.access_token).delete(`/devices/${id}`).expect(204),
      ],
      [
        'by a sign-out of all others',
        (phone) => bearer(service.url, phone.access_token).post('/sign-out', { scope: 'others' }).expect(204),
      ],
      [
        'for all users',
        () =>
          bearer(service.url, SERVICE_KEY)
            .post('/agents/sign-out', { client_id: 'secret-agent' })
            .expect(200),
      ],
      [
        'after its session, by removal',
        async (phone, id) => {
          const past = `UPDATE refresh_tokens SET expires_at = now() - interval '1 s' WHERE device_id = $1 AND user_id = $2`;
          await query(service.databaseUrl, past, [id, phone.user_id]);
          await bearer(service.url, phone.access_token).delete(`/devices/${id}`).expect(204);
        },
      ],
    ])('%s stays away until it is allowed again', async (_how, end) => {
      const phone = await signedIn();
      const own = bearer(service.url, phone.access_token);
      const token = await exchanged();
      const deviceId = claimsOf(token)['device_id'] as string;
      expect((await own.get('/devices/refused').expect(200)).body).toEqual({ programs: [] });
      const listed = async () => (await own.get('/devices').expect(200)).body as object;
      expect(await listed()).not.toHaveProperty('has_refused_programs');
      await end(phone, deviceId);
      expect(await isActive(token)).toBe(false);
      expect((await exchange(assertion(later())).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
      expect((await own.get('/devices/refused').expect(200)).body).toEqual({
        programs: [
          {
            device_id: deviceId,
            client_id: 'secret-agent',
            client_name: 'Secret Agent',
            resource: API,
            refused_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          },
        ],
      });
      expect(await listed()).toHaveProperty('has_refused_programs', true);
      await exchange(assertion({ ...later(), resource: OTHER_API, scope: undefined })).expect(200);
      await own.post(`/devices/${deviceId}/allow`).expect(204);
      await own.post(`/devices/${deviceId}/allow`).expect(404);
      expect(await listed()).not.toHaveProperty('has_refused_programs');
      expect((await own.get('/devices/refused').expect(200)).body).toEqual({ programs: [] });
      expect(await isActive(await exchanged(later()))).toBe(true);
    });

    it('is not that which the program or a rule has ended', async () => {
      const phone = await signedIn();
      const token = await exchanged();
      await request(service.url).post('/oauth2/revoke').type('form').send({ token }).expect(200);
      expect(await isActive(token)).toBe(false);
      const next = await exchanged();
      expect(await isActive(next)).toBe(true);
      const desk = bearer(service.url, SERVICE_KEY);
      await desk.patch(`/users/${phone.user_id}`, { suspended: true }).expect(200);
      const refused = await exchange(assertion(later())).expect(403);
      expect(refused.body).toMatchObject({ error: 'access_denied' });
      await desk.patch(`/users/${phone.user_id}`, { suspended: false }).expect(200);
      await exchange(assertion(later())).expect(200);
    });

    it('is that of the provider alone: the user’s own consent holds', async () => {
      const phone = await signedIn();
      const agent = new Agent(service.url, AGENTS.secret);
      const code = await agent.code({ provider: 'corp' });
      const consented = (await agent.redeem(code, { client_secret: AGENT_SECRET }).expect(200)).body;
      const token = await exchanged();
      const [one, other] = [consented.access_token as string, token].map((it) => claimsOf(it)['device_id']);
      expect(one).not.toBe(other);
      await bearer(service.url, phone.access_token)
        .delete(`/devices/${String(other)}`)
        .expect(204);
      expect(await isActive(consented.access_token)).toBe(true);
    });

    it('is of no other user', async () => {
      const phone = await signedIn();
      const id = String(claimsOf(await exchanged())['device_id']);
      await bearer(service.url, phone.access_token).delete(`/devices/${id}`).expect(204);
      person = new Employee(issuer, service.url);
      const stranger = await signedIn();
      await bearer(service.url, stranger.access_token).post(`/devices/${id}/allow`).expect(404);
      await exchange(assertion()).expect(200);
    });
  });

  it('is worth nothing if the user was signed out everywhere since the assertion', async () => {
    const before = assertion({ iat: now() - 60 });
    const phone = await signedIn();
    await exchanged();
    await bearer(service.url, SERVICE_KEY).post(`/users/${phone.user_id}/sign-out`).expect(200);
    await bearer(service.url, phone.access_token).get('/me').expect(401);
    const { access_token } = await signedIn();
    const [{ device_id: id }] = (await bearer(service.url, access_token).get('/devices/refused').expect(200))
      .body.programs as [{ device_id: string }];
    await bearer(service.url, access_token).post(`/devices/${id}/allow`).expect(204);
    expect((await exchange(before).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('is refused if the rules of the provider refuse the user', async () => {
    const strict = await service.another({ PROVIDERS_CORP_ALLOW: 'email_domain=other.example' });
    try {
      const refused = await exchange(assertion(), {}, strict.url).expect(403);
      expect(refused.body).toMatchObject({ error: 'access_denied' });
      const known = 'SELECT FROM users WHERE provider_user_id = $1';
      expect(await query(service.databaseUrl, known, [person.sub])).toEqual([]);
    } finally {
      await strict.close();
    }
  });

  it('is in the metadata, and unknown without the setting', async () => {
    const path = '/.well-known/oauth-authorization-server';
    const metadata = (await request(service.url).get(path).expect(200)).body as Claims;
    expect(metadata).toMatchObject({
      authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
      grant_types_supported: ['authorization_code', 'refresh_token', GRANT],
    });
    expect(metadata).not.toHaveProperty('device_authorization_endpoint');
    const off = await service.another({ PROVIDERS_CORP_ID_JAG: 'off', PROVIDERS_REAL_ID_JAG: 'off' });
    try {
      const other = (await request(off.url).get(path).expect(200)).body as Claims;
      expect(other).not.toHaveProperty('authorization_grant_profiles_supported');
      expect(other['grant_types_supported']).not.toContain(GRANT);
      const refused = await exchange(assertion(), { resource: API }, off.url).expect(400);
      expect(refused.body).toMatchObject({ error: 'unsupported_grant_type' });
    } finally {
      await off.close();
    }
  });
});

describe('id_jag', () => {
  const database = use(() => createDatabase());
  const check = (env: Record<string, string>) =>
    latchkeyCommand({ DATABASE_URL: database.url, ...env }, tmpdir(), 'check-config');
  const url = 'https://idp.example';

  it('stops the start if two providers have one issuer', async () => {
    const both = { ...idJagEnv('CORP', url), ...idJagEnv('OTHER', `${url}/`) };
    const { code, stdout } = await check({ ...both, AGENTS_FILE: agentsFile() });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/FAIL .*PROVIDERS_OTHER_ID_JAG is on, and corp has this issuer/),
    ]);
    const { PROVIDERS_OTHER_ID_JAG: _on, ...one } = both;
    expect((await check({ ...one, AGENTS_FILE: agentsFile() })).stdout).not.toContain('ID_JAG');
  });

  it('stops the start without AGENTS_FILE', async () => {
    const { code, stdout } = await check(idJagEnv('CORP', url));
    expect([code, stdout]).toEqual([1, expect.stringContaining('AGENTS_FILE is not set, and id_jag is on')]);
  });
});
