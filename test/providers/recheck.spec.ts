import { checkOf, makeDue } from '../recheck/refreshing-provider.js';
import { Endings } from '../support/endings.js';
import { needs } from '../support/installed.js';
import { Person } from '../support/oidc-issuer.js';
import { claimsOf, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { keycloakHome } from './installed-products.js';
import { startKeycloak, type Keycloak } from './keycloak.js';
import { startNodeOidcProvider } from './node-oidc-provider.js';
import { START_MS } from './product.js';
import { NO_LOGOUT, ServiceAtProduct } from './service-at-product.js';

/** The time of the next re-check comes. */
function comesDue({ service }: ServiceAtProduct, { user_id }: Tokens): Promise<void> {
  return makeDue(service.databaseUrl, user_id);
}

async function checked(at: ServiceAtProduct, tokens: Tokens): Promise<void> {
  await comesDue(at, tokens);
  const row = (): ReturnType<typeof checkOf> => checkOf(at.service.databaseUrl, tokens.user_id);
  await until(async () => (await row())?.fresh === true, 'the provider has answered');
  expect(await row()).toMatchObject({ attempts: 0, failing: false });
}

const home = keycloakHome();

needs({ 'Java, Maven and the download': home !== undefined }).describe('recheck with Keycloak', () => {
  const endings = new Endings();
  let keycloak: Keycloak;
  let rechecked: ServiceAtProduct;
  let ada: string;

  beforeAll(async () => {
    keycloak = endings.after(await startKeycloak(home!, NO_LOGOUT), (one) => one.stop());
    const [user] = (await keycloak.admin('GET', '/latchkey/users?username=ada')) as { id: string }[];
    ada = `/latchkey/users/${user!.id}`;
    await keycloak.admin('POST', '/latchkey/roles', { name: 'editor' });
    const [client] = (await keycloak.admin('GET', '/latchkey/clients?clientId=latchkey-plain')) as {
      id: string;
    }[];
    await keycloak.admin('POST', `/latchkey/clients/${client!.id}/protocol-mappers/models`, {
      name: 'roles',
      protocol: 'openid-connect',
      protocolMapper: 'oidc-usermodel-realm-role-mapper',
      config: { 'claim.name': 'roles', multivalued: 'true', 'id.token.claim': 'true' },
    });
    rechecked = endings.after(
      await ServiceAtProduct.start(keycloak, { recheck: '60', claims: 'roles=roles' }),
      (one) => one.service.close(),
    );
  }, START_MS);
  afterAll(() => endings.run());
  beforeEach(async () => {
    await keycloak.admin('PUT', ada, { enabled: true });
    await keycloak.admin('POST', `${ada}/role-mappings/realm`, [await editor()]);
  });

  const editor = (): Promise<object> =>
    keycloak.admin('GET', '/latchkey/roles/editor') as Promise<{ id: string; name: string }>;

  async function endsBy(change: () => Promise<unknown>): Promise<void> {
    const tokens = await rechecked.signIn(new Person('ada'));
    await checked(rechecked, tokens);
    const socket = await SocketClient.connect(rechecked.service.url, tokens.access_token);
    expect(await rechecked.isAlive(tokens)).toBe(true);
    await change();
    await comesDue(rechecked, tokens);
    await socket.closed();
    await until(async () => !(await rechecked.isAlive(tokens)), 'the session has ended');
    expect((await rechecked.refresh(tokens)).body).toMatchObject({ error: 'invalid_grant' });
  }

  it('a disabled user is refused, and the socket closes', () =>
    endsBy(() => keycloak.admin('PUT', ada, { enabled: false })));

  it('so is a user who was logged out there', () => endsBy(() => keycloak.admin('POST', `${ada}/logout`)));

  it('a role that was removed is gone without a sign-in', async () => {
    const tokens = await rechecked.signIn(new Person('ada'));
    const rolesOf = (token: string): unknown => claimsOf(token)['roles'];
    expect(rolesOf(tokens.access_token)).toContain('editor');
    const socket = await SocketClient.connect(rechecked.service.url, tokens.access_token);
    await keycloak.admin('DELETE', `${ada}/role-mappings/realm`, [await editor()]);
    await comesDue(rechecked, tokens);
    await until(() => socket.received.some(({ event }) => event === 'claims.changed'));
    const { body } = await rechecked.refresh(tokens).expect(200);
    expect(rolesOf((body as Tokens).access_token) ?? []).not.toContain('editor');
    socket.socket.close();
  });
});

describe('recheck with node-oidc-provider', () => {
  const endings = new Endings();
  afterAll(() => endings.run());

  it('rotates refresh tokens, and ends the sessions once they are revoked', async () => {
    const product = endings.after(await startNodeOidcProvider(NO_LOGOUT), (one) => one.stop());
    const asked = { recheck: '60', authorize_params: 'prompt=consent', claims: 'groups=groups' };
    const started = endings.after(await ServiceAtProduct.start(product, asked), (one) => one.service.close());
    const tokens = await started.signIn(new Person('ada'));
    await checked(started, tokens);
    await checked(started, tokens);
    await product.revoke();
    await comesDue(started, tokens);
    await until(async () => !(await started.isAlive(tokens)), 'the session has ended');
  });
});
