import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import request from 'supertest';
import { bearer, type Tokens } from '../support/sign-in.js';
import { createEmptyDatabase, type TestDatabase, query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { isFull } from './faults.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/installed.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService } from '../support/service.js';
import { until } from '../support/waiting.js';

// As Debian has them (apt-get install glewlwyd).
const PLUGIN = '/usr/lib/glewlwyd/plugin/libprotocol_oidc.so';
const TABLES = '/usr/share/doc/glewlwyd/database/init.postgre.sql.gz';
const SETTINGS = '/etc/glewlwyd/glewlwyd.conf';

/** Tests with a real Glewlwyd are skipped if it is not installed. */
const hasGlewlwyd = [PLUGIN, TABLES, SETTINGS].every((file) => existsSync(file));

const GLEWLWYD_CLIENT = { id: 'latchkey', secret: 'a client secret of glewlwyd' };
const CALLBACK = 'http://localhost/callback';

/** Glewlwyd, an OpenID provider in C, with back-channel logout. */
class Glewlwyd {
  private readonly admin = new Person('admin');

  private constructor(
    private readonly url: string,
    private readonly child: ChildProcess,
    private readonly database: TestDatabase,
    private readonly directory: string,
  ) {}

  /** @param logoutUri receives logout tokens */
  static async start(logoutUri: string): Promise<Glewlwyd> {
    const database = await createEmptyDatabase();
    await query(database.url, 'CREATE EXTENSION pgcrypto');
    await query(database.url, gunzipSync(await readFile(TABLES)).toString());
    const [directory, port] = [await mkdtemp(join(tmpdir(), 'glewlwyd-')), await freePort()];
    const file = join(directory, 'glewlwyd.conf');
    await writeFile(file, settings(await readFile(SETTINGS, 'utf8'), port, database.url));
    const child = spawn('glewlwyd', [`--config-file=${file}`], { stdio: 'ignore' });
    const it = new Glewlwyd(`http://localhost:${port}`, child, database, directory);
    await until(() =>
      fetch(it.url).then(
        () => true,
        () => false,
      ),
    );
    await it.setUp(logoutUri);
    return it;
  }

  get issuer(): string {
    return `${this.url}/api/oidc`;
  }

  /** A browser in which a person is signed in at the provider, and lets the client know who it is. */
  async browser(username: string, password: string): Promise<Person> {
    const person = new Person(username);
    await this.call(person, 'POST', '/auth/', { username, password });
    await this.call(person, 'PUT', `/auth/grant/${GLEWLWYD_CLIENT.id}/`, { scope: 'openid' });
    return person;
  }

  /** @returns the address of the callback, with code and state */
  async authorize(person: Person, page: string): Promise<URL> {
    const { headers } = await person.fetch(`${page}&g_continue`);
    return new URL(headers.get('Location')!);
  }

  /** What its page does when a user signs out. */
  async logOut(person: Person): Promise<void> {
    await this.call(person, 'DELETE', `/oidc/session/${person.cookie('OIDC_SID')}`);
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
    await this.database.drop();
    await rm(this.directory, { recursive: true });
  }

  private async setUp(logoutUri: string): Promise<void> {
    await this.call(this.admin, 'POST', '/auth/', { username: 'admin', password: 'password' });
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const parameters = {
      iss: this.issuer,
      'jwt-type': 'rsa',
      'jwt-key-size': '256',
      key: privateKey.export({ format: 'pem', type: 'pkcs8' }),
      cert: publicKey.export({ format: 'pem', type: 'spki' }),
      'access-token-duration': 3600,
      'refresh-token-duration': 3600,
      'code-duration': 60,
      'refresh-token-rolling': false,
      'auth-type-token-enabled': false,
      'auth-type-refresh-enabled': true,
      'pkce-required': false,
      'subject-type': 'public',
      'auth-type-code-enabled': true,
      'pkce-allowed': true,
      'jwks-show': true,
      'allowed-scope': ['openid'],
      'session-management-allowed': true,
      'session-cookie-name': 'OIDC_SID',
      'session-cookie-expiration': 3600,
      'back-channel-logout-allowed': true,
    };
    const plugin = {
      module: 'oidc',
      name: 'oidc',
      display_name: 'OpenID Connect',
      enabled: true,
      parameters,
    };
    await this.call(this.admin, 'POST', '/mod/plugin/', plugin);
    await this.call(this.admin, 'POST', '/client/', {
      client_id: GLEWLWYD_CLIENT.id,
      client_secret: GLEWLWYD_CLIENT.secret,
      confidential: true,
      enabled: true,
      redirect_uri: [CALLBACK],
      authorization_type: ['code'],
      scope: ['openid'],
      token_endpoint_auth_method: ['client_secret_post'],
      backchannel_logout_uri: logoutUri,
      backchannel_logout_session_required: 'true',
    });
    await this.call(this.admin, 'POST', '/user/', {
      username: 'ada',
      password: 'a password of ada',
      enabled: true,
      scope: ['openid', 'g_profile'],
    });
  }

  private async call(person: Person, method: string, path: string, body: object = {}): Promise<void> {
    const { status } = await person.fetch(`${this.url}/api${path}`, {
      method,
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    });
    if (status !== 200) throw new Error(`glewlwyd answered ${method} ${path} with ${status}`);
  }
}

function settings(usual: string, port: number, databaseUrl: string): string {
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const place = `host=${hostname} port=${databasePort} dbname=${pathname.slice(1)}`;
  const conninfo = `${place} user=${username} password=${decodeURIComponent(password)}`;
  return usual
    .replace(/^port=.*/m, `port=${port}`)
    .replace(/^external_url=.*/m, `external_url="http://localhost:${port}/"`)
    .replace(/^log_mode=.*/m, 'log_mode="console"')
    .replace(/^@include .*glewlwyd-db.*/m, `database = { type = "postgre"; conninfo = "${conninfo}"; };`);
}

/** Sign-in and logout with a provider of another make than that of the other tests (docs/providers.md). */
needs({ glewlwyd: hasGlewlwyd, 'npm run test:infra in full': isFull }).describe('Glewlwyd', () => {
  const endings = new Endings();
  let glewlwyd: Glewlwyd;
  let url: string;

  beforeAll(async () => {
    const port = String(await freePort());
    url = `http://localhost:${port}`;
    const logoutUri = `${url}/providers/glewlwyd/backchannel-logout`;
    glewlwyd = endings.after(await Glewlwyd.start(logoutUri), (one) => one.stop());
    endings.after(
      await startTestService({
        PORT: port,
        PROVIDERS_GLEWLWYD_ADAPTER: 'oidc',
        PROVIDERS_GLEWLWYD_URL: glewlwyd.issuer,
        PROVIDERS_GLEWLWYD_CLIENT_ID: GLEWLWYD_CLIENT.id,
        PROVIDERS_GLEWLWYD_CLIENT_SECRET: GLEWLWYD_CLIENT.secret,
        PROVIDERS_GLEWLWYD_SCOPE: 'openid',
        REDIRECT_URIS: 'http://localhost/callback',
      }),
      (one) => one.close(),
    );
  });
  afterAll(() => endings.run());

  async function signIn(person: Person): Promise<Tokens> {
    const begun = await request(url).get('/oauth2/authorize').query({ provider: 'glewlwyd' });
    const callback = await glewlwyd.authorize(person, (begun.body as { redirect_url: string }).redirect_url);
    const { code, state } = Object.fromEntries(callback.searchParams);
    const answer = await request(url).post('/oauth2/token').send({ code, state }).expect(200);
    return answer.body as Tokens;
  }

  it('ends the sessions of the browser in which somebody signs out', async () => {
    const [here, elsewhere] = [
      await glewlwyd.browser('ada', 'a password of ada'),
      await glewlwyd.browser('ada', 'a password of ada'),
    ];
    const sessions = [await signIn(here), await signIn(here), await signIn(elsewhere)];
    const isAlive = async ({ access_token: token }: Tokens) =>
      (await bearer(url, token).get('/me')).status === 200;
    const alive = () => Promise.all(sessions.map(isAlive));
    expect(await alive()).toEqual([true, true, true]);
    await glewlwyd.logOut(here);
    await until(async () => !(await alive())[0]); // it sends logout tokens in another thread
    expect(await alive()).toEqual([false, false, true]);
  });
});
