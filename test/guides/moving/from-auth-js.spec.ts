import { Endings } from '../../support/endings.js';
import { createEmptyDatabase, query } from '../../support/database.js';
import { OidcIssuer, TamperingProxy } from '../../support/oidc-issuer.js';
import { startTestService, type TestService } from '../../support/service.js';
import { until } from '../../support/waiting.js';
import { sectionsOf } from '../page.js';
import { Application, TIMEOUT_MS } from './application.js';
import { Visitor } from './visitor.js';

const PAGE = 'docs/guides/from-auth-js.md';
const KEY = '0123456789abcdef0123456789abcdef';

/** The application of `auth-js/`, with users who have signed in there; then the guide, section by section. */
describe('moving from Auth.js', () => {
  const endings = new Endings();
  let application: Application;
  let database: string;
  let env: Record<string, string>;
  let service: TestService;
  let ada: Visitor;
  let grace: Visitor;

  beforeAll(async () => {
    application = endings.after(await Application.install('auth-js', PAGE, ['server']), (one) =>
      one.remove(),
    );
    ({ url: database } = endings.after(await createEmptyDatabase(), (one) => one.close()));
    await query(database, application.text('tables.sql'));
    const corp = endings.after(await TamperingProxy.start(), (one) => one.close());
    const issuer = endings.after(await OidcIssuer.start(corp.url), (one) => one.close());
    corp.target = issuer.port;
    const page = sectionsOf(PAGE).get('The service')!.env;
    const settings = { ...page, 'providers.corp.url': corp.url, 'providers.mock.enabled': 'false' };
    service = endings.after(await startTestService({ ...settings, SERVICE_KEYS: KEY }), (one) => one.close());
    issuer.restart({
      client: {
        client_id: page['providers.corp.client_id']!,
        client_secret: page['providers.corp.client_secret']!,
        redirect_uris: [`${application.url}/auth/callback/corp`, `${service.url}/providers/corp/callback`],
      },
    });
    env = {
      DATABASE_URL: database,
      AUTH_SECRET: 'a secret of Auth.js in this test',
      CORP_URL: corp.url,
      CORP_ID: page['providers.corp.client_id']!,
      CORP_SECRET: page['providers.corp.client_secret']!,
      LATCHKEY_URL: service.url,
      LATCHKEY_KEY: KEY,
      COOKIE_SECRET: 'a secret of the cookie in this test',
    };
    await application.start(env);
  }, TIMEOUT_MS);
  afterAll(() => endings.run());

  const visitor = async (login: string): Promise<Visitor> =>
    endings.after(await Visitor.arrive(application.url, login), (one) => one.leave());
  const statusOf = async (one: Visitor): Promise<number> => (await one.open('/admin')).status();
  const home = async (one: Visitor): Promise<unknown> => {
    const answer = await one.open('/');
    return answer.headers()['content-type']!.includes('json') ? answer.json() : undefined;
  };

  /** As the link of the page leads. */
  async function signIn(one: Visitor): Promise<void> {
    const [, link] = /href="([^"]+)"/.exec(await (await one.open('/')).text())!;
    await one.open(link!);
  }

  /** The form of Auth.js, to which its link leads. */
  async function signInBefore(one: Visitor): Promise<void> {
    const form = await (await one.open('/auth/signin')).text();
    const [, csrfToken] = /name="csrfToken" value="([^"]+)"/.exec(form)!;
    await one.post('/auth/signin/corp', { csrfToken: csrfToken! });
  }

  const mapping = (): Promise<object[]> =>
    query(database, 'SELECT old_id, user_id FROM latchkey_users ORDER BY old_id, user_id');
  const userOf = (subject: string): Promise<{ user_id: string; claims: object }> =>
    fetch(`${service.url}/users?provider=corp&provider_user_id=${subject}`, {
      headers: { Authorization: `Bearer ${KEY}` },
    })
      .then((answer) => answer.json() as Promise<{ users: [{ user_id: string; claims: object }] }>)
      .then(({ users }) => users[0]);

  it('signs in with Auth.js at first', async () => {
    [ada, grace] = [await visitor('ada'), await visitor('grace')];
    for (const one of [ada, grace]) await signInBefore(one);
    await query(database, "UPDATE users SET role = 'admin' WHERE name = 'ada'");
    await ada.post('/notes', { text: 'from before' });
    await query(
      database,
      `INSERT INTO accounts ("userId", type, provider, "providerAccountId")
       SELECT id, 'oidc', 'corp', 'ada-at-home' FROM users WHERE name = 'ada'`,
    );
    expect(await home(ada)).toEqual({ id: 1, name: 'ada', notes: ['from before'] });
    expect(await statusOf(ada)).toBe(204);
    expect(await statusOf(grace)).toBe(403);
  });

  it(
    'moves the users, again and again',
    async () => {
      await application.follow('Users', env);
      const moved = await mapping();
      await application.follow('Users', env);
      expect(await mapping()).toEqual(moved);
      const [first, atHome, second] = await Promise.all(['ada', 'ada-at-home', 'grace'].map(userOf));
      expect(moved).toHaveLength(3);
      expect(moved).toEqual(
        expect.arrayContaining([
          { old_id: 1, user_id: first!.user_id },
          { old_id: 1, user_id: atHome!.user_id },
          { old_id: 2, user_id: second!.user_id },
        ]),
      );
      expect(first).toMatchObject({ email: 'ada@idp.example', claims: { roles: ['admin'] } });
    },
    TIMEOUT_MS,
  );

  it('keeps the sessions of Auth.js while new sign-ins are those of Latchkey', async () => {
    await application.follow('Both at once', env);
    await application.start(env);
    expect(await home(grace)).toMatchObject({ id: 2, name: 'grace' });
    const phone = await visitor('ada');
    await signIn(phone);
    expect(await home(phone)).toEqual({ id: 1, name: 'ada', notes: ['from before'] });
    expect(await statusOf(phone)).toBe(204);
    await phone.post('/notes', { text: 'from both' });
    expect(await home(ada)).toMatchObject({ notes: ['from before', 'from both'] });
  });

  it('goes on without Auth.js, with the same rows', async () => {
    await application.follow('Without Auth.js', env);
    await application.start(env);
    expect(await home(ada)).toBeUndefined();
    await signIn(ada);
    expect(await home(ada)).toEqual({ id: 1, name: 'ada', notes: ['from before', 'from both'] });
    expect(await statusOf(ada)).toBe(204);
    await signIn(grace);
    expect([await home(grace), await statusOf(grace)]).toEqual([{ id: 2, name: 'grace', notes: [] }, 403]);
    const home2 = await visitor('ada-at-home');
    await signIn(home2);
    expect(await home(home2)).toMatchObject({ id: 1 });
  });

  it('adds a user who comes later, once', async () => {
    const alan = await visitor('alan');
    await signIn(alan);
    const pages = await Promise.all([home(alan), home(alan), home(alan)]);
    for (const page of pages) expect(page).toEqual({ id: expect.any(Number), name: 'alan', notes: [] });
    expect(await query(database, "SELECT FROM users WHERE name = 'alan'")).toHaveLength(1);
  });

  it('is signed out everywhere within a second', async () => {
    const { user_id: id } = await userOf('ada');
    const elsewhere = await visitor('ada');
    await signIn(elsewhere);
    expect(await home(elsewhere)).toMatchObject({ id: 1 });
    await fetch(`${service.url}/users/${id}/sign-out`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
      body: '{}',
    });
    await until(async () => (await home(elsewhere)) === undefined, 'the session has ended');
    expect(await home(ada)).toBeUndefined();
    expect(await home(grace)).toMatchObject({ id: 2 });
    await grace.post('/auth/sign-out');
    expect(await home(grace)).toBeUndefined();
  });
});
