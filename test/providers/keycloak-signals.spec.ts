import { tmpdir } from 'node:os';
import { Endings } from '../support/endings.js';
import { needs } from '../support/installed.js';
import { Person } from '../support/oidc-issuer.js';
import { latchkeyCommand } from '../support/service-process.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { keycloakHome } from './installed-products.js';
import { makeReceiver, SIGNALS } from './keycloak-signals.js';
import { startKeycloak, type Keycloak } from './keycloak.js';
import { PASSWORD, START_MS, visit } from './product.js';
import { NO_LOGOUT, ServiceAtProduct } from './service-at-product.js';

const home = keycloakHome();

/** Shared Signals of a real transmitter (docs/signals.md#keycloak). */
needs({ 'Java, Maven and the download': home !== undefined }).describe('signals of Keycloak', () => {
  const endings = new Endings();
  let keycloak: Keycloak;
  let at: ServiceAtProduct;
  let ada: string;

  beforeAll(async () => {
    keycloak = endings.after(await startKeycloak(home!, NO_LOGOUT, SIGNALS), (one) => one.stop());
    at = endings.after(await ServiceAtProduct.start(keycloak, { signals: 'on' }), (one) =>
      one.service.close(),
    );
    await makeReceiver(keycloak, 'latchkey-plain', at.service.url);
    const [user] = (await keycloak.admin('GET', '/latchkey/users?username=ada')) as { id: string }[];
    ada = `/latchkey/users/${user!.id}`;
  }, START_MS);
  afterAll(() => endings.run());

  const command = (): ReturnType<typeof latchkeyCommand> => {
    const { databaseUrl, url } = at.service;
    const env = { ...at.env, DATABASE_URL: databaseUrl, PUBLIC_URL: url };
    return latchkeyCommand(env, tmpdir(), 'signals', 'plain');
  };

  it('the command sets the stream up, once', async () => {
    const first = await command();
    expect(first.stdout).toMatch(/^ok +stream +created /m);
    expect(first.stdout).toMatch(
      /^ok +events +(?:session-revoked, credential-change|credential-change, session-revoked)$/m,
    );
    expect(first.stdout).toMatch(/^ok +verification +the event has arrived/m);
    expect(first.code).toBe(0);
    const second = await command();
    expect(second.stdout).toMatch(/^ok +stream +.* is up to date$/m);
    expect(second.code).toBe(0);
  });

  async function endsBy(change: (person: Person) => Promise<unknown>): Promise<void> {
    const person = new Person('ada');
    const tokens = await at.signIn(person);
    const socket = await SocketClient.connect(at.service.url, tokens.access_token);
    expect(await at.isAlive(tokens)).toBe(true);
    await change(person);
    await socket.closed();
    await until(async () => !(await at.isAlive(tokens)), 'the session has ended');
    expect((await at.refresh(tokens)).body).toMatchObject({ error: 'invalid_grant' });
  }

  it('a user whom an administrator logs out', () => endsBy(() => keycloak.admin('POST', `${ada}/logout`)));

  it('a user who logs out', () =>
    endsBy(async (person) => {
      const { pages } = await visit(person, `${keycloak.issuer}/protocol/openid-connect/logout`);
      expect(pages).toBe(1);
    }));

  it('a user with a new password', () =>
    endsBy(() => {
      const password = { type: 'password', value: PASSWORD, temporary: false };
      return keycloak.admin('PUT', `${ada}/reset-password`, password);
    }));
});
