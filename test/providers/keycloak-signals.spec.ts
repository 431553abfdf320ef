import { tmpdir } from 'node:os';
import { query } from '../support/database.js';
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

  const received = async (): Promise<(string | null)[]> => {
    const text = `SELECT reason FROM audit_events WHERE event = 'signal_received' ORDER BY at`;
    const rows = await query<{ reason: string | null }>(at.service.databaseUrl, text);
    return rows.map(({ reason }) => reason);
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

  it('the session ends of a user whom an administrator logs out', () =>
    endsBy(() => keycloak.admin('POST', `${ada}/logout`)));

  it('of a user who logs out', () =>
    endsBy(async (person) => {
      // 26.7.3 sends nothing of a sign-out without this parameter
      const asked = { client_id: 'latchkey-plain', post_logout_redirect_uri: NO_LOGOUT.signedOut };
      const page = `${keycloak.issuer}/protocol/openid-connect/logout?${new URLSearchParams(asked).toString()}`;
      await visit(person, page, NO_LOGOUT.signedOut);
    }));

  it('of a user with a new password', () =>
    endsBy(() => {
      const password = { type: 'password', value: PASSWORD, temporary: false };
      return keycloak.admin('PUT', `${ada}/reset-password`, password);
    }));

  /** Two events of the stream, in the order of all events. */
  async function changeStream(): Promise<void> {
    const status = '/latchkey/ssf/clients/latchkey-plain/stream/status';
    const count = async (): Promise<number> =>
      (await received()).filter((reason) => reason?.startsWith('stream-updated')).length;
    const before = await count();
    for (const one of ['paused', 'enabled']) await keycloak.admin('POST', status, { status: one });
    await until(async () => (await count()) === before + 2, 'both events have arrived');
  }

  it('a change of the stream ends nothing', async () => {
    const tokens = await at.signIn(new Person('ada'));
    await changeStream();
    expect(await at.isAlive(tokens)).toBe(true);
  });

  it('a user who is disabled keeps the session, since 26.7.3 sends nothing', async () => {
    const tokens = await at.signIn(new Person('ada'));
    const before = (await received()).length;
    await keycloak.admin('PUT', ada, { enabled: false });
    await changeStream(); // comes after an event of the user
    expect(await received()).toHaveLength(before + 2);
    expect(await at.isAlive(tokens)).toBe(true);
    await keycloak.admin('PUT', ada, { enabled: true });
  });
});
