import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import { ProxyProcess } from '../infra/proxy-process.js';
import { freePort } from '../support/free-port.js';
import { isInstalled, needs } from '../support/installed.js';
import { OpenIdStub } from '../support/openid-stub.js';
import { SERVICE_KEY as KEY, startTestService } from '../support/service.js';
import { authorization, claimsOf, type Tokens } from '../support/sign-in.js';
import { providersEnv } from '../support/stub-provider.js';
import { use } from '../support/use.js';

type Claims = Record<string, unknown>;

const guids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

/** One limit for the claims of provider and application (docs/guides/roles.md#limits). */
describe('limits of claims', () => {
  const stub = use(() => OpenIdStub.start());
  const service = use(() => {
    const oidc = {
      adapter: 'oidc',
      url: stub.url,
      nonce: 'off', // sign-ins at once share the stub
      claims: 'groups=groups,roles=roles,tenant=tenant,note=note',
    };
    return startTestService({
      ...providersEnv({ stub: oidc, mapped: { ...oidc, map_groups: 'g1=admins,g2=staff' } }),
      PUBLIC_URL: `https://${'latchkey.'.repeat(12)}example`,
      SERVICE_KEYS: KEY,
    });
  });
  beforeEach(() => stub.reset());

  async function signIn(claims: Claims, name = 'stub'): Promise<Tokens> {
    const { state } = await authorization(service.url, { provider: name });
    const own = { name: 'Ada', email: 'a@x.example', picture: 'https://x.example/a' };
    stub.claims = { ...own, ...claims };
    stub.user = { sub: claims['sub'] };
    const body = { code: 'c', state, device_id: randomUUID() };
    const answer = await request(service.url).post('/oauth2/token').send(body).expect(200);
    return answer.body as Tokens;
  }
  const put = ({ user_id }: Tokens, claims: Claims, url = service.url): request.Test =>
    request(url).put(`/users/${user_id}/claims`).set('Authorization', `Bearer ${KEY}`).send({ claims });
  const linesOf = (sub: string): string[] =>
    service.log.filter((line) => line.includes('ProviderClaims') && line.includes(sub));

  it('a list of the provider is cut at its end, with a warning that names user, claim, number and setting', async () => {
    const [sub, groups] = [randomUUID(), guids(200)];
    const tokens = await signIn({ sub, groups, roles: ['admin'] });
    const { groups: kept, roles } = claimsOf(tokens.access_token) as { groups: string[]; roles: string[] };
    expect([kept.length > 100, kept, roles]).toEqual([true, groups.slice(0, kept.length), ['admin']]);
    expect(linesOf(sub)).toEqual([
      expect.stringContaining(`${kept.length} of 200 groups are kept (providers.stub.map_groups`),
    ]);
    expect(linesOf(sub)[0]).toContain(`provider stub, user ${sub} (${tokens.user_id})`);
  });

  it('map_groups keeps the values in use, by their names', async () => {
    const sub = randomUUID();
    const tokens = await signIn({ sub, groups: [...guids(200), 'g2', 'g1'] }, 'mapped');
    expect(claimsOf(tokens.access_token)).toMatchObject({ groups: ['staff', 'admins'] });
    expect(linesOf(sub)).toEqual([]);
  });

  it('PUT beyond what the provider leaves is refused, and changes nothing; {} is always possible', async () => {
    const tokens = await signIn({ sub: randomUUID(), groups: guids(60) });
    await put(tokens, { plan: 'pro' }).expect(200);
    const { body } = await put(tokens, { plan: 'x'.repeat(2000) }).expect(400);
    expect(body).toMatchObject({ error: 'invalid_request' });
    expect((body as { error_description: string }).error_description).toContain(
      'provider and application together',
    );
    const { body: after } = await put(tokens, { plan: 'pro' }).expect(200);
    expect(after).toMatchObject({ claims: { plan: 'pro' } });
    await put(tokens, {}).expect(200);
  });

  it('the provider is cut beside what the application has; the next sign-in stores nothing anew', async () => {
    const [sub, groups] = [randomUUID(), guids(104)];
    await put(await signIn({ sub }), { roles: ['admin'], plan: 'x'.repeat(2000) }).expect(200);
    const of = (tokens: Tokens): Claims => claimsOf(tokens.access_token);
    const first = await signIn({ sub, groups });
    const {
      groups: kept,
      roles,
      claims,
    } = of(first) as { groups: string[]; roles: string[]; claims: Claims };
    expect([kept, roles, claims]).toEqual([
      groups.slice(0, kept.length),
      ['admin'],
      { plan: 'x'.repeat(2000) },
    ]);
    expect(kept.length).toBeGreaterThan(45);
    expect(linesOf(first.user_id).at(-1)).toContain(`${kept.length} of 104 groups are kept (map_groups`);
    const lines = linesOf(first.user_id).length;
    expect(of(await signIn({ sub, groups }))).toMatchObject({ groups: kept });
    expect(linesOf(first.user_id)).toHaveLength(lines);
  });

  it('sign-ins and PUT at once never exceed the limit together', async () => {
    const sub = randomUUID();
    const tokens = await signIn({ sub });
    const small = guids(70);
    const works = Array.from({ length: 6 }, (_, i) => [
      put(tokens, { list: 'y'.repeat(700 * i) }),
      signIn({ sub, groups: small.slice(0, 10 * (i + 1)) }),
    ]).flat();
    await Promise.allSettled(works); // a busy service tells some of them to retry
    const { body } = await request(service.url)
      .get(`/users/${tokens.user_id}/claims`)
      .set('Authorization', `Bearer ${KEY}`);
    const { effective } = body as { effective: Claims };
    expect(Buffer.byteLength(JSON.stringify(effective))).toBeLessThanOrEqual(4096);
  });

  it.each<[string, string]>([
    ['a whole number beyond 2^53 - 1', '9007199254740993'],
    ['a negative one', '-9007199254740993'],
    ['one in an object', '{"of":[9007199254740993]}'],
    ['one with an exponent', '1e17'],
    ['one too large for any number', '1e400'],
    ['a fraction of one', '9007199254740993.5'],
  ])('%s is refused by PUT and by a push, and dropped of an ID token', async (_name, number) => {
    const sub = randomUUID();
    const tokens = await signIn({ sub, tenant: JSON.parse(number) as unknown, note: 'kept' });
    expect(claimsOf(tokens.access_token)['claims']).toEqual({ note: 'kept' });
    const send = (body: string, call: request.Test): request.Test =>
      call.set({ Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }).send(body);
    const path = `/users/${tokens.user_id}/claims`;
    const event = `{"user_id":"${tokens.user_id}","event":"e","data":{"n":${number}}}`;
    const refused = [
      await send(`{"claims":{"tenant":${number}}}`, request(service.url).put(path)),
      await send(event, request(service.url).post('/push')),
    ];
    for (const { status, body } of refused) {
      expect([status, (body as Claims)['error_description']]).toEqual([
        400,
        expect.stringContaining('send it as text'),
      ]);
    }
  });

  it.each<[string, string]>([
    ['ASCII', 'x'],
    ['two bytes', 'ä'],
    ['four bytes', '🔑'],
    ['escapes', '\\"'],
  ])('Authorization fits into 8 KiB with everything that a token may carry: %s', async (_name, character) => {
    expect((await largest(character)).length).toBeLessThan(8192);
  });

  const nginx = needs({ nginx: isInstalled('nginx') });
  nginx.it('and passes nginx with its usual buffers', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-nginx-'));
    const port = await freePort();
    writeFileSync(join(directory, 'nginx.conf'), nginxConf(directory, port, service.url));
    const args = ['-p', directory, '-c', join(directory, 'nginx.conf'), '-g', 'daemon off;'];
    const proxy = await ProxyProcess.start('nginx', args, port);
    try {
      const bearer = (value: string): request.Test =>
        request(`http://127.0.0.1:${port}`).get('/me').set('Authorization', value);
      await bearer(await largest('ä')).expect(200);
      await bearer(`Bearer ${'x'.repeat(8192)}`).expect(400); // control: the proxy does refuse
    } finally {
      await proxy.stop();
      rmSync(directory, { recursive: true });
    }
  });

  /** Returns the longest header: full claims of both sources, `acr` and `amr`, a device. */
  async function largest(character: string): Promise<string> {
    const sub = randomUUID();
    const full = {
      sub,
      acr: 'a'.repeat(255),
      amr: Array.from({ length: 10 }, (_, i) => `${i}${'m'.repeat(63)}`),
      auth_time: 1,
    };
    const many = (letter: string): string[] =>
      Array.from({ length: 300 }, (_, i) => `${letter}${i}${character.repeat(5)}`);
    const tokens = await signIn(full);
    let [length, status] = [300, 400];
    for (; status !== 200; length -= 1)
      ({ status } = await put(tokens, { roles: many('r').slice(0, length) }));
    const { access_token: token } = await signIn({
      ...full,
      groups: many('g'),
      note: character.repeat(4000),
    });
    const { roles = [], groups = [] } = claimsOf(token) as Record<string, string[]>;
    expect(Buffer.byteLength(JSON.stringify({ roles, groups }))).toBeGreaterThan(4000);
    return `Bearer ${token}`;
  }
});

function nginxConf(directory: string, port: number, target: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `pid ${directory}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join(' ')}
  server { listen 127.0.0.1:${port}; location / { proxy_pass ${target}; } }
}
`;
}
