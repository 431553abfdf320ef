import type { Browser, Page } from 'playwright-core';
import { inChromium, launchChromium } from '../../support/chromium.js';
import { createEmptyDatabase, query } from '../../support/database.js';
import { Endings } from '../../support/endings.js';
import { freePort } from '../../support/free-port.js';
import { OidcIssuer, TamperingProxy } from '../../support/oidc-issuer.js';
import { startTestService, type TestService } from '../../support/service.js';
import { sectionsOf } from '../page.js';
import { Application, TIMEOUT_MS } from './application.js';
import { SupabaseStandIn } from './supabase-stand-in.js';

const PAGE = 'docs/guides/from-supabase.md';
const KEY = '0123456789abcdef0123456789abcdef';

/** The application of `supabase/`, in which users have signed in; then the guide, section by section. */
inChromium('moving from Supabase Auth', () => {
  const endings = new Endings();
  let application: Application;
  let database: string;
  let env: Record<string, string>;
  let service: TestService;
  let browser: Browser;
  let [ada, grace]: Page[] = [];
  /** Who signs in at the provider, unless the browser has a session there. */
  let login: string;

  beforeAll(async () => {
    application = endings.after(await Application.install('supabase', PAGE, ['client', 'server']), (one) =>
      one.remove(),
    );
    ({ url: database } = endings.after(await createEmptyDatabase(), (one) => one.close()));
    await query(database, application.text('tables.sql'));
    const google = endings.after(await TamperingProxy.start(), (one) => one.close());
    const issuer = endings.after(await OidcIssuer.start(google.url), (one) => one.close());
    google.target = issuer.port;
    google.intercept = (path, response) => {
      if (!path.startsWith('/interaction/') || path.includes('login=')) return false;
      response.writeHead(303, { Location: `${path}?login=${login}` }).end();
      return true;
    };
    const page = sectionsOf(PAGE).get('The service')!.env;
    const [id, secret] = [page['providers.google.client_id']!, page['providers.google.client_secret']!];
    const port = await freePort();
    issuer.restart({
      client: {
        client_id: id,
        client_secret: secret,
        redirect_uris: [`http://localhost:${port}/auth/v1/callback`, `${application.url}/callback`],
      },
    });
    const client = { issuer: google.url, id, secret };
    const supabase = endings.after(new SupabaseStandIn(database, port, client), (one) => one.close());
    service = endings.after(
      await startTestService({
        ...page,
        SERVICE_KEYS: KEY,
        'providers.google.url': google.url,
        'providers.google.claim_username': 'preferred_username', // of OidcIssuer
        'providers.google.token_endpoint_auth_method': 'client_secret_post',
      }),
      (one) => one.close(),
    );
    env = {
      DATABASE_URL: database,
      SUPABASE_URL: supabase.url,
      SUPABASE_KEY: 'anon',
      LATCHKEY_URL: service.url,
      LATCHKEY_KEY: KEY,
    };
    await application.start(env);
    browser = endings.after(await launchChromium(), (one) => one.close());
    [ada, grace] = [await browser.newPage(), await browser.newPage()];
    for (const tab of [ada, grace]) tab.setDefaultTimeout(40_000);
  }, TIMEOUT_MS);
  afterAll(() => endings.run());

  const open = async (tab: Page): Promise<void> => void (await tab.goto(application.url));
  const press = (tab: Page, name: string): Promise<void> => tab.getByRole('button', { name }).click();
  const sees = (tab: Page, text: string): Promise<void> => tab.getByText(text, { exact: true }).waitFor();
  async function save(tab: Page, text: string): Promise<void> {
    await tab.getByLabel('Note').fill(text);
    await press(tab, 'Save');
    await sees(tab, text);
  }
  async function signIn(tab: Page, user: string): Promise<void> {
    login = user;
    await open(tab);
    await press(tab, 'Sign in');
    await sees(tab, `Signed in as ${user}`);
  }
  const texts = (tab: Page): Promise<string[]> => tab.locator('li').allTextContents();

  it(
    'signs in with Supabase at first',
    async () => {
      await signIn(grace!, 'grace');
      await save(grace!, 'of grace');
      await signIn(ada!, 'ada');
      await save(ada!, 'from before');
      expect(await texts(ada!)).toEqual(['from before']);
      await query(
        database,
        `UPDATE auth.users SET raw_app_meta_data = '{"roles": ["auditor"]}' WHERE email LIKE 'ada@%'`,
      );
      await query(
        database,
        `WITH made AS (INSERT INTO auth.users (email, encrypted_password) VALUES ('alan@idp.example', 'a hash') RETURNING id)
       INSERT INTO auth.identities (provider, provider_id, user_id, identity_data) SELECT 'email', id, id, '{}' FROM made`,
      );
    },
    TIMEOUT_MS,
  );

  it(
    'moves the users, again and again',
    async () => {
      await application.follow('Users', env);
      const mapping =
        'SELECT user_id, old_id, email FROM latchkey_users JOIN auth.users ON id = old_id ORDER BY email';
      const moved = await query(database, mapping);
      await application.follow('Users', env);
      expect(await query(database, mapping)).toEqual(moved);
      expect(moved.map(({ email }) => email)).toEqual(['ada@idp.example', 'grace@idp.example']);
      const answer = await fetch(`${service.url}/users/${String(moved[0]!['user_id'])}`, {
        headers: { Authorization: `Bearer ${KEY}` },
      });
      expect(await answer.json()).toMatchObject({ username: 'ada', claims: { roles: ['auditor'] } });
    },
    TIMEOUT_MS,
  );

  it(
    'signs in with Latchkey, and has the same rows and roles; the old pages still work',
    async () => {
      const old = await browser.newPage({ storageState: await grace!.context().storageState() });
      await open(old);
      await sees(old, 'Signed in as grace');
      await application.follow('The API', env);
      await application.follow('The pages', env);
      await application.start(env);
      await signIn(grace!, 'grace');
      expect(await texts(grace!)).toEqual(['of grace']);
      await save(grace!, 'from Latchkey');
      await save(old, 'from an old page');
      expect(await texts(old)).toEqual(['of grace', 'from Latchkey', 'from an old page']);
      await signIn(ada!, 'ada');
      expect(await texts(ada!)).toEqual(['of grace', 'from before', 'from Latchkey', 'from an old page']);
    },
    TIMEOUT_MS,
  );

  it(
    'has rows of a user who comes later',
    async () => {
      const later = await browser.newPage();
      later.setDefaultTimeout(40_000);
      await signIn(later, 'edsger');
      await save(later, 'of edsger');
      expect(await texts(later)).toEqual(['of edsger']);
    },
    TIMEOUT_MS,
  );

  it(
    'signs out everywhere',
    async () => {
      const elsewhere = await browser.newPage();
      elsewhere.setDefaultTimeout(40_000);
      await signIn(elsewhere, 'ada');
      const [{ user_id: id }] = (await query(
        database,
        "SELECT user_id FROM latchkey_users JOIN auth.users ON id = old_id WHERE email = 'ada@idp.example'",
      )) as [{ user_id: string }];
      await fetch(`${service.url}/users/${id}/sign-out`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
        body: '{}',
      });
      for (const tab of [ada!, elsewhere]) {
        await open(tab);
        await sees(tab, 'Signed out');
      }
      await open(grace!);
      await sees(grace!, 'Signed in as grace');
      await press(grace!, 'Sign out');
      await sees(grace!, 'Signed out');
    },
    TIMEOUT_MS,
  );
});
