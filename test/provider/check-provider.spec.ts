import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  check as checkHere,
  runChecker,
  type Checked,
} from '../../packages/check-provider/test/support/checker.js';
import { signInFrom } from '../../packages/check-provider/test/support/person.js';
import { checkIssuer, checkNamed } from '../../src/commands/check/check-provider.js';
import { OpenIdStub } from '../support/openid-stub.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/provider-adapter/corp.js', import.meta.url));
const SECRET = 'a client secret';
const CODE = 'a-code-of-the-stub';

interface Report {
  readonly ok: boolean;
  readonly error: string | null;
  readonly redirect_uris: readonly string[];
  readonly identity: Readonly<Record<string, unknown>>;
  readonly results: readonly { readonly id: string; readonly verdict: string; readonly seen: string }[];
  readonly claims: readonly {
    readonly name: string;
    readonly kept: readonly string[];
    readonly dropped: string | null;
  }[];
}

/**
 * `latchkey check-provider <name>` (docs/check.md#check-provider-name), in this process unless it asks for a
 * browser.
 */
describe('check-provider of a configured provider', () => {
  let cwd: string;
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'latchkey-check-'));
  });
  const issuer = use(() => OpenIdStub.start());
  afterAll(() => rmSync(cwd, { recursive: true }));
  beforeEach(() => {
    jest.spyOn(process, 'cwd').mockReturnValue(cwd);
    jest.spyOn(Logger, 'overrideLogger').mockReturnValue(undefined); // other spec files share it
    issuer.reset();
    issuer.callback = { code: CODE };
  });

  afterEach(() => jest.restoreAllMocks());

  const corp = (more: Record<string, string> = {}): Record<string, string> => ({
    adapter: 'oidc',
    url: issuer.url,
    client_id: 'latchkey',
    client_secret: SECRET,
    ...more,
  });

  async function check(settings: Record<string, string>, ...args: string[]): Promise<Checked> {
    const lines = Object.entries(settings).map(([key, value]) => `providers.corp.${key}=${value}`);
    writeFileSync(join(cwd, '.env'), ['PUBLIC_URL=https://id.example', ...lines].join('\n'));
    const checked = await checkHere(args, { named: checkNamed, issuer: checkIssuer });
    for (const secret of [SECRET, 'an access token', CODE]) {
      expect(checked.stdout + checked.stderr).not.toContain(secret);
    }
    return checked;
  }

  it('prints redirect URIs, identity and claims: which are kept, and why the others are not', async () => {
    issuer.claims = {
      name: 'Ada',
      email: 'ada@corp.example',
      email_verified: false,
      picture: 'ftp://corp.example/ada.png',
      groups: ['staff'],
      realm: { roles: { admin: 'yes' } },
      locale: 'en',
    };
    const { code, stdout } = await check(
      corp({
        redirect_uris: 'https://app.example/callback',
        claims: 'groups=groups,roles=realm.roles,plan=plan',
      }),
      'corp',
    );
    const line = (...parts: string[]): RegExp => new RegExp(`^${parts.join(' +')}$`, 'm');
    for (const expected of [
      line('ok', 'settings', `provider corp, adapter oidc, ${issuer.url}`),
      line('ok', 'discovery', 'the document can be used'),
      line('register', 'corp', 'https://app\\.example/callback'),
      line('register', 'corp', 'https://id\\.example/providers/corp/callback'),
      line('register', 'for this check', 'http://127\\.0\\.0\\.1:\\d+/callback'),
      line('identity', 'provider_user_id', '"ada"'),
      line('identity', 'email', 'null'),
      line('identity', 'claims', '{"groups":\\["staff"\\]}'),
      line('kept', 'sub', '"ada": as provider_user_id'),
      line('kept', 'name', '"Ada": as username'),
      line('kept', 'groups', '\\["staff"\\]: as claim groups'),
      line('dropped', 'email', '"ada@corp\\.example": the provider calls it unverified'),
      line('dropped', 'picture', '.*: is not an http\\(s\\) URL of at most 2048 characters'),
      line('dropped', 'realm', '.*: is no list of texts, but an object: .*'),
      line('dropped', 'plan', 'the provider did not send it'),
      line('dropped', 'locale', '"en": no setting names it'),
      line('dropped', 'exp', '\\d+: of the protocol: validated, not kept'),
      line('The sign-in works\\.'),
    ])
      expect(stdout).toMatch(expected);
    expect(code).toBe(0);
  });

  it('checks an issuer by its URL in the same way, as JSON too', async () => {
    const { code, stdout } = await check(
      {},
      issuer.url,
      '--client-id',
      'latchkey',
      '--client-secret',
      SECRET,
      '--json',
    );
    const report = JSON.parse(stdout) as Report;
    expect(report).toMatchObject({ ok: true, error: null, identity: { provider_user_id: 'ada' } });
    expect(report.claims).toContainEqual({
      name: 'sub',
      value: 'ada',
      kept: ['provider_user_id'],
      dropped: null,
    });
    expect(code).toBe(0);
  });

  it('says what is wrong, with the setting to look at: exit code 1', async () => {
    const failures = async (settings: Record<string, string>): Promise<string[]> => {
      const { code, stdout } = await check(settings, 'corp', '--json');
      expect(code).toBe(1);
      return (JSON.parse(stdout) as Report).results
        .filter(({ verdict }) => verdict === 'fail')
        .map(({ id, seen }) => `${id}: ${seen}`);
    };
    expect(await failures(corp({ url: 'login.corp.example' }))).toEqual([
      expect.stringMatching(/^settings: providers\.corp\.url is invalid/),
    ]);
    issuer.metadata = { response_types_supported: ['id_token'] };
    expect(await failures(corp())).toEqual([expect.stringMatching(/^discovery: .*authorization code flow/)]);
    issuer.metadata = {};
    issuer.said = { '/token': [401, `{"error":"invalid_client","error_description":"not ${SECRET}"}`] };
    expect(await failures(corp())).toEqual([
      expect.stringMatching(
        /^sign-in: invalid_client \(not \S+\), HTTP 401 from .*; look at providers\.corp\.client_id/,
      ),
    ]);
    issuer.callback = { error: 'access_denied', error_description: 'not\u001b[31m you' };
    expect(await failures(corp())).toEqual([
      expect.stringMatching(/^sign-in: access_denied \(not \[31m you\)/),
    ]);
  });

  it('uses an adapter of an integrator: the example that adds the groups of a directory', async () => {
    const example = corp({
      adapter: EXAMPLE,
      groups_url: `${issuer.url}/groups`,
      claims: 'name=name,groups=groups',
    });
    issuer.claims = { name: 'Ada' };
    issuer.said = { '/groups': [200, '{"groups":[{"name":"staff"},{"name":"board"}]}'] };
    const { code, stdout } = await check(example, 'corp');
    expect(stdout).toMatch(/^identity +claims +\{"name":"Ada","groups":\["staff","board"\]\}$/m);
    expect(code).toBe(0);
    const { rawHeaders } = issuer.requests.find(({ path }) => path === '/groups')!;
    expect(rawHeaders).toContain('Bearer an access token');

    issuer.said = { '/groups': [200, '{"groups":[]}'] };
    const refused = await check(example, 'corp');
    expect(refused.stdout).toMatch(/^FAIL +sign-in +without a group$/m);
    const unset = await check({ ...example, groups_url: '' }, 'corp');
    expect(unset.stdout).toMatch(/^FAIL +settings +providers\.corp\.groups_url is refused by the adapter/m);
  });

  it('cannot run without the provider, and for those that no loopback callback can serve: exit code 2', async () => {
    const reason = async (settings: Record<string, string>, name: string): Promise<string> => {
      const { code, stderr } = await check(settings, name);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await reason(corp(), 'other')).toContain(
      'no provider other is configured and enabled; there are: mock, corp',
    );
    const slack = { adapter: 'slack', client_id: 'a', client_secret: SECRET };
    expect(await reason(slack, 'corp')).toContain('slack accepts https redirect URIs only');
    expect(await reason(corp({ response_mode: 'form_post' }), 'corp')).toContain(
      'corp posts the code (form_post)',
    );
  });

  it('signs in with a browser at the sample provider, and at one of the contract', async () => {
    const stub = await StubProvider.start();
    stub.signInAtOnce();
    const contract = await check({ url: stub.url, client_id: 'latchkey', client_secret: SECRET }, 'corp');
    await stub.close();
    expect(contract.stdout).toMatch(/^kept +username +"Ada": as username$/m);

    writeFileSync(join(cwd, '.env'), '');
    const service = await startTestService();
    const env = { SECRET_KEY: '5e'.repeat(32), PORT: String(service.settings.port) };
    try {
      const { code, stdout } = await runChecker(
        ['check-provider', 'mock'],
        (address) => void signInFrom(address, { login: 'ada', password: 'analytical-engine' }),
        { cwd, env },
      );
      expect(stdout).toContain('please sign in once');
      expect(stdout).toMatch(/^identity +username +"Ada Lovelace"$/m);
      expect(code).toBe(0);
    } finally {
      await service.close();
    }
  });
});
