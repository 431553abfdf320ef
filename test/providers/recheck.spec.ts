import request from 'supertest';
import { checkOf, makeDue } from '../recheck/refreshing-provider.js';
import { Endings } from '../support/endings.js';
import { needs } from '../support/installed.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { providersEnv } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { keycloakHome } from './installed-products.js';
import { startKeycloak, type Keycloak } from './keycloak.js';
import { startNodeOidcProvider } from './node-oidc-provider.js';
import { START_MS, warmUp, type Addresses, type Product } from './product.js';

const CALLBACKS = 'http://localhost/callback/';
/** No product can send a logout token there. */
const at: Addresses = {
  callback: (provider) => `${CALLBACKS}${provider}`,
  backChannel: () => 'http://127.0.0.1:9/nowhere',
  signedOut: 'http://localhost/signed-out',
};

/** A service with `recheck` at a product. */
class Rechecked {
  constructor(
    readonly service: TestService,
    private readonly product: Product,
  ) {}

  static async start(product: Product, more: Record<string, string>): Promise<Rechecked> {
    await warmUp(product.issuer);
    const { plain } = product.clients;
    const usual = {
      adapter: 'oidc',
      url: product.issuer,
      redirect_uris: at.callback('plain'),
      recheck: '60',
    };
    const env = providersEnv({ plain: { ...usual, ...plain, ...more } });
    return new Rechecked(await startTestService(env), product);
  }

  async signIn(person: Person): Promise<Tokens> {
    const { url } = this.service;
    const begun = await request(url).get('/oauth2/authorize').query({ provider: 'plain' }).expect(200);
    const page = (begun.body as { redirect_url: string }).redirect_url;
    const { searchParams } = (await this.product.authorize(person, page)).url;
    const { code, state, iss } = Object.fromEntries(searchParams);
    const { status, body } = await request(url).post('/oauth2/token').send({ code, state, iss });
    if (status === 200) return body as Tokens;
    throw new Error(`${status} ${JSON.stringify(body)}: ${this.service.log.slice(-5).join('')}`);
  }

  /** The time of the next re-check comes. */
  makeDue({ user_id }: Tokens): Promise<void> {
    return makeDue(this.service.databaseUrl, user_id);
  }

  async checked(tokens: Tokens): Promise<void> {
    await this.makeDue(tokens);
    const row = (): ReturnType<typeof checkOf> => checkOf(this.service.databaseUrl, tokens.user_id);
    await until(async () => (await row())?.fresh === true, 'the provider has answered');
    expect(await row()).toMatchObject({ attempts: 0, failing: false });
  }

  async isAlive({ access_token: token }: Tokens): Promise<boolean> {
    return (await bearer(this.service.url, token).get('/me')).status === 200;
  }

  refresh({ refresh_token }: Tokens): request.Test {
    return request(this.service.url).post('/oauth2/refresh').send({ refresh_token });
  }
}

const home = keycloakHome();

needs({ 'Java, Maven and the download': home !== undefined }).describe('recheck with Keycloak', () => {
  const endings = new Endings();
  let keycloak: Keycloak;
  let rechecked: Rechecked;
  let ada: string;

  beforeAll(async () => {
    keycloak = endings.after(await startKeycloak(home!, at), (one) => one.stop());
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
    rechecked = endings.after(await Rechecked.start(keycloak, { claims: 'roles=roles' }), (one) =>
      one.service.close(),
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
    await rechecked.checked(tokens);
    const socket = await SocketClient.connect(rechecked.service.url, tokens.access_token);
    expect(await rechecked.isAlive(tokens)).toBe(true);
    await change();
    await rechecked.makeDue(tokens);
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
    await rechecked.makeDue(tokens);
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
    const product = endings.after(await startNodeOidcProvider(at), (one) => one.stop());
    const asked = { authorize_params: 'prompt=consent', claims: 'groups=groups' };
    const started = endings.after(await Rechecked.start(product, asked), (one) => one.service.close());
    const tokens = await started.signIn(new Person('ada'));
    await started.checked(tokens);
    await started.checked(tokens);
    await product.revoke();
    await started.makeDue(tokens);
    await until(async () => !(await started.isAlive(tokens)), 'the session has ended');
  });
});
