import type { Browser, Page } from 'playwright-core';
import { keycloakHome } from '../../providers/installed-products.js';
import { startKeycloak, type Keycloak } from '../../providers/keycloak.js';
import { PASSWORD, SECRET, START_MS, warmUp } from '../../providers/product.js';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { createEmptyDatabase, query } from '../../support/database.js';
import { Endings } from '../../support/endings.js';
import { freePort } from '../../support/free-port.js';
import { needs } from '../../support/installed.js';
import { startTestService } from '../../support/service.js';
import { sectionsOf } from '../page.js';
import { Application, TIMEOUT_MS } from './application.js';

const PAGE = 'docs/guides/from-keycloak-js.md';
const KEY = '0123456789abcdef0123456789abcdef';

const home = keycloakHome();

/** The application of `keycloak-js/`, in which a user has signed in; then the guide, section by section. */
inChromium('moving from keycloak-js', () => {
  needs({ 'Java, Maven and the download': home !== undefined }).describe('with Keycloak', () => {
    const endings = new Endings();
    let application: Application;
    let browser: Browser;
    let database: string;
    let env: Record<string, string>;
    let keycloak: Keycloak;
    let latchkey: string;
    let old: Page;
    let page: Page;

    beforeAll(async () => {
      const port = String(await freePort());
      latchkey = `http://localhost:${port}`;
      application = endings.after(
        await Application.install('keycloak-js', PAGE, ['client', 'server']),
        (one) => one.remove(),
      );
      ({ url: database } = endings.after(await createEmptyDatabase(), (one) => one.close()));
      await query(database, application.text('tables.sql'));
      keycloak = endings.after(
        await startKeycloak(home!, {
          callback: () => `${application.url}/callback`,
          backChannel: () => `${latchkey}/providers/keycloak/backchannel-logout`,
          signedOut: `${application.url}/`,
        }),
        (one) => one.stop(),
      );
      await warmUp(keycloak.issuer);
      await prepareRealm(keycloak, application.url);
      endings.after(
        await startTestService({
          ...sectionsOf(PAGE).get('The service')!.env,
          PORT: port,
          SERVICE_KEYS: KEY,
          'providers.keycloak.url': keycloak.issuer,
          'providers.keycloak.client_id': 'latchkey-plain',
          'providers.keycloak.client_secret': SECRET,
        }),
        (one) => one.close(),
      );
      env = {
        DATABASE_URL: database,
        KEYCLOAK_URL: new URL(keycloak.issuer).origin,
        REALM: 'latchkey',
        IMPORT_ID: 'importer',
        IMPORT_SECRET: SECRET,
        LATCHKEY_URL: latchkey,
        LATCHKEY_KEY: KEY,
      };
      await application.start(env);
      browser = endings.after(await launchChromium(), (one) => one.close());
      [old, page] = [await browser.newPage(), await browser.newPage()];
      for (const one of [old, page]) one.setDefaultTimeout(40_000);
    }, START_MS);
    afterAll(() => endings.run());

    const open = async (tab: Page): Promise<void> => void (await tab.goto(application.url));
    const press = (tab: Page, name: string): Promise<void> => tab.getByRole('button', { name }).click();
    const sees = (tab: Page, text: string): Promise<void> => tab.getByText(text, { exact: true }).waitFor();
    async function save(tab: Page, text: string): Promise<void> {
      await tab.getByLabel('Note').fill(text);
      await press(tab, 'Save');
      await sees(tab, text);
    }
    async function signIn(tab: Page): Promise<void> {
      await press(tab, 'Sign in');
      await tab.locator('#username').fill('ada');
      await tab.locator('#password').fill(PASSWORD);
      await tab.locator('#kc-login').click();
    }

    it(
      'signs in with keycloak-js at first',
      async () => {
        await open(old);
        await signIn(old);
        await sees(old, 'Signed in as ada');
        await save(old, 'from before');
        await press(old, 'Publish');
        await sees(old, 'Published');
      },
      TIMEOUT_MS,
    );

    it(
      'has an API for the tokens of both',
      async () => {
        await application.follow('The API, for both', env);
        await application.start(env);
        await open(old);
        await sees(old, 'from before');
      },
      TIMEOUT_MS,
    );

    it(
      'signs in with Latchkey, and has the same rows and roles',
      async () => {
        await application.follow('The pages', env);
        await application.start(env);
        await open(page);
        await sees(page, 'Signed out');
        await signIn(page);
        await sees(page, 'Signed in as Ada Lovelace');
        await sees(page, 'from before');
        await press(page, 'Publish');
        await sees(page, 'Published');
        await save(page, 'from Latchkey');
      },
      TIMEOUT_MS,
    );

    it(
      'needs one click of a user with a session in Keycloak',
      async () => {
        await open(old);
        await press(old, 'Sign in');
        await sees(old, 'from Latchkey');
        expect(await query(database, 'SELECT DISTINCT owner FROM notes')).toHaveLength(1);
      },
      TIMEOUT_MS,
    );

    it(
      'moves the users, again and again; the rows may have the new ids',
      async () => {
        await application.follow('Users', env);
        await application.follow('Users', env);
        const statement = /`(UPDATE [^`]+)`/.exec(sectionsOf(PAGE).get('Users')!.text)![1]!;
        const moved = await query(
          database,
          'SELECT user_id::text, old_id FROM latchkey_users JOIN notes ON owner = old_id GROUP BY 1, 2',
        );
        await query(database, statement);
        const [{ owner }] = (await query<{ owner: string }>(database, 'SELECT owner FROM notes')) as [
          { owner: string },
        ];
        expect(moved).toEqual([{ user_id: owner, old_id: expect.any(String) }]);
        const answer = await fetch(`${latchkey}/users/${owner}`, {
          headers: { Authorization: `Bearer ${KEY}` },
        });
        expect(await answer.json()).toMatchObject({
          provider_user_id: moved[0]!['old_id'],
          live_sessions: 2,
        });
        await query(
          database,
          'UPDATE notes SET owner = old_id FROM latchkey_users WHERE owner = user_id::text',
        );
      },
      TIMEOUT_MS,
    );

    it(
      'signs out in Keycloak as well, and everywhere within a second',
      async () => {
        // Back from Keycloak: the page shows "Signed out" before it goes there.
        const back = page.waitForEvent('load', (one) => one.url() === `${application.url}/`);
        await press(page, 'Sign out');
        await back;
        await sees(page, 'Signed out');
        await press(page, 'Sign in');
        await page.locator('#username').waitFor(); // Keycloak asks again
        await sees(old, 'from before');
        const [user] = (await keycloak.admin('GET', '/latchkey/users?username=ada')) as { id: string }[];
        await keycloak.admin('POST', `/latchkey/users/${user!.id}/logout`);
        await open(old);
        await sees(old, 'Signed out');
      },
      TIMEOUT_MS,
    );
  });
});

/** The client of keycloak-js, a role, and what the guide and the page of Keycloak ask for. */
async function prepareRealm({ admin }: Keycloak, url: string): Promise<void> {
  const realm = '/latchkey';
  await admin('POST', `${realm}/clients`, {
    clientId: 'my-app',
    publicClient: true,
    redirectUris: [`${url}/*`],
    webOrigins: [url],
    attributes: { 'post.logout.redirect.uris': `${url}/*` },
  });
  await admin('POST', `${realm}/roles`, { name: 'editor' });
  const [ada] = (await admin('GET', `${realm}/users?username=ada`)) as { id: string }[];
  await admin('POST', `${realm}/users/${ada!.id}/role-mappings/realm`, [
    await admin('GET', `${realm}/roles/editor`),
  ]);
  await admin('POST', `${realm}/users`, { username: 'grace', enabled: true, email: 'grace@idp.example' });

  interface Mapper {
    readonly name: string;
    readonly config: object;
    readonly id: string;
  }
  const scopes = (await admin('GET', `${realm}/client-scopes`)) as {
    id: string;
    name: string;
    protocolMappers?: Mapper[];
  }[];
  const roles = scopes.find(({ name }) => name === 'roles')!;
  const mapper = roles.protocolMappers!.find(({ name }) => name === 'realm roles')!;
  await admin('PUT', `${realm}/client-scopes/${roles.id}/protocol-mappers/models/${mapper.id}`, {
    ...mapper,
    config: { ...mapper.config, 'id.token.claim': 'true' },
  });

  await admin('POST', `${realm}/clients`, {
    clientId: 'importer',
    secret: SECRET,
    serviceAccountsEnabled: true,
    standardFlowEnabled: false,
  });
  const clientOf = async (name: string): Promise<string> =>
    ((await admin('GET', `${realm}/clients?clientId=${name}`)) as [{ id: string }])[0].id;
  const [importer, management] = [await clientOf('importer'), await clientOf('realm-management')];
  const account = (await admin('GET', `${realm}/clients/${importer}/service-account-user`)) as { id: string };
  await admin('POST', `${realm}/users/${account.id}/role-mappings/clients/${management}`, [
    await admin('GET', `${realm}/clients/${management}/roles/view-users`),
  ]);
}
