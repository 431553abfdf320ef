import { randomUUID } from 'node:crypto';
import { Agent, AGENTS, agentsFile } from '../agents/agent.js';
import { Employee, idJagEnv } from '../agents/assertions.js';
import { query } from '../support/database.js';
import { OpenIdStub } from '../support/openid-stub.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';
import { tokensAt } from './person.js';

/** Programs that act for a user with an account at `corp`, which is joined to the own one at `home`. */
describe('a program', () => {
  const home = use(() => StubProvider.start());
  const corp = use(() => OpenIdStub.start());
  const here = use(() =>
    startTestService({
      ...home.env('HOME'),
      ...idJagEnv('CORP', corp.url),
      PROVIDERS_MOCK_ENABLED: 'false',
      PROVIDERS_HOME_LINKS: 'corp',
      SERVICE_KEYS: SERVICE_KEY,
      AGENTS_FILE: agentsFile(),
    }),
  );
  const isActive = async ({ access_token: token }: { access_token: string }): Promise<boolean> => {
    const answer = await bearer(here.url, SERVICE_KEY).post('/oauth2/introspect', { token }).expect(200);
    return (answer.body as { active: boolean }).active;
  };

  async function person() {
    const employee = new Employee(corp, here.url);
    const ada = `ada-${randomUUID()}`;
    const own = await tokensAt(here, 'home', ada);
    const caller = bearer(here.url, own.access_token);
    const { body } = await caller.post('/me/identities', { provider: 'corp' }).expect(200);
    const { redirect_url, state } = body as { redirect_url: string; state: string };
    Object.assign(corp, {
      callback: { code: 'a code' },
      claims: { sub: employee.sub },
      user: { sub: employee.sub },
    });
    await fetch(redirect_url, { redirect: 'manual' });
    await caller.post('/me/identities/complete', { code: 'a code', state }).expect(200);
    return { ada, employee, own, caller };
  }

  it('that the joined provider allows by an assertion does not act for the user', async () => {
    const { employee } = await person();
    await query(
      here.databaseUrl,
      `UPDATE users SET created_at = now() - interval '1 h' WHERE merged_into IS NOT NULL`,
    );
    const refused = await employee.exchange(employee.assertion());
    expect(refused.body).toMatchObject({ error: 'access_denied' });
    const other = new Employee(corp, here.url);
    await other.exchange(other.assertion()).expect(200);
  });

  it('that was allowed by the joined identity acts for the user until that is parted', async () => {
    const { ada, own, caller } = await person();
    const byCorp = new Agent(here.url);
    const tokens = await byCorp.allowed({ provider: 'corp' });
    home.signInAtOnce(() => ada);
    const byHome = new Agent(here.url, AGENTS.cli);
    const others = await byHome.allowed({ provider: 'home' }).finally(() => home.reset());
    for (const one of [tokens, others]) {
      expect([claimsOf(one.access_token)['sub'], await isActive(one)]).toEqual([own.user_id, true]);
      await bearer(here.url, one.access_token).get('/me/identities').expect(401);
      await bearer(here.url, one.access_token).post('/me/identities', { provider: 'corp' }).expect(401);
    }
    await byCorp.refresh(tokens).expect(200);
    await caller.delete('/me/identities/corp').expect(204);
    expect([await isActive(tokens), await isActive(others)]).toEqual([false, true]);
    await byCorp.refresh(tokens).expect(401);
    await byHome.refresh(others).expect(200);
  });

  it('whose code was not redeemed before the parting is refused', async () => {
    const { own, caller } = await person();
    const agent = new Agent(here.url);
    const code = await agent.code({ provider: 'corp' });
    await caller.delete('/me/identities/corp').expect(204);
    const { body } = await agent.redeem(code);
    const sub = (body as Partial<Tokens>).access_token && claimsOf((body as Tokens).access_token)['sub'];
    expect(sub).not.toBe(own.user_id);
  });
});
