import { Agent, agentsFile, AGENTS, AGENTS_CONTENT, answerOf } from './agent.js';
import { eventsOf } from '../support/audit.js';
import { query } from '../support/database.js';
import { useService } from '../support/use.js';

/** Turns the text around, and closes an element. */
const NAME = '<b>x</b> & 🦊';

describe('the question of a program', () => {
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    BRAND_NAME: 'Example Inc.',
    AGENTS_FILE: agentsFile({
      ...AGENTS_CONTENT,
      clients: [
        ...AGENTS_CONTENT.clients,
        { client_id: 'odd-agent', client_name: NAME, redirect_uris: ['https://odd.example/cb'] },
      ],
    }),
  }));
  let who = 'ada';
  beforeAll(() => provider.signInAtOnce(() => who));
  beforeEach(() => (who = 'ada'));

  it('names program, person, API, scopes, way back and end', async () => {
    const { text, headers } = await new Agent(service.url).ask();
    for (const shown of [
      'Web Agent',
      'agent.example',
      'Ada',
      'Orders',
      'api.example',
      '30 days',
      'Example Inc.',
    ])
      expect(text).toContain(shown);
    expect(text).toContain('See your orders');
    expect(text).toContain('Change your orders');
    expect(text).toContain('list of devices');
    expect(text).not.toContain('<script');
    expect(headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
  });

  it('is always asked, also after it was allowed', async () => {
    const agent = new Agent(service.url);
    await agent.allowed();
    expect((await new Agent(service.url, AGENTS.web, agent).ask()).text).toContain(
      'Let this program act for you?',
    );
  });

  it('warns of a program on the computer', async () => {
    const { text } = await new Agent(service.url, AGENTS.cli).ask();
    expect(text).toContain('A program on this computer');
    expect(text).toContain('It cannot prove who it is');
  });

  it('is in the language of the browser', async () => {
    const agent = new Agent(service.url);
    agent.language = 'de-AT, en;q=0.5';
    const { text } = await agent.ask();
    expect(text).toContain('<html lang="de">');
    expect(text).toContain('Darf dieses Programm für Sie handeln?');
    expect(text).toContain('Ihre Bestellungen ändern');
    expect(text).toContain('See your orders'); // has one language
    expect(text).toContain('30 Tage');
  });

  it('shows names as text', async () => {
    const client = { client_id: 'odd-agent', redirect_uris: ['https://odd.example/cb'] };
    const { text } = await new Agent(service.url, client).ask();
    expect(text).toContain('<bdi>&lt;b&gt;x&lt;/b&gt; &amp; 🦊</bdi>');
  });

  it('gives what was ticked, and nothing more', async () => {
    const agent = new Agent(service.url);
    expect(await agent.allowed({}, ['orders:read', 'notes:read'])).toMatchObject({ scope: 'orders:read' });
  });

  it.each([
    ['“Do not allow”', 'no', undefined],
    ['no tick', 'yes', []],
  ] as const)('is denied by %s', async (_what, answer, scopes) => {
    const agent = new Agent(service.url);
    const page = await agent.ask();
    const events = await eventsOf(service.databaseUrl, 1, async () => {
      const answered = await agent.answer(page, answer, scopes);
      expect(answered.text).toContain('Nothing was allowed');
      expect(answerOf(answered)).toMatchObject({
        error: 'access_denied',
        state: 'a state',
        iss: service.url,
      });
    });
    expect(events).toMatchObject([
      { event: 'agent_refused', result: 'refused', user_id: expect.any(String), reason: expect.any(String) },
    ]);
  });

  it('takes one answer', async () => {
    const agent = new Agent(service.url);
    const page = await agent.ask();
    const answers = await Promise.all([agent.answer(page, 'yes'), agent.answer(page, 'no')]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await agent.answer(page, 'yes')).status).toBe(400);
  });

  it('is bound to the browser that began', async () => {
    const agent = new Agent(service.url);
    const page = await agent.ask();
    const other = new Agent(service.url);
    await other.ask(); // now it has another cookie
    for (const browser of [other, new Agent(service.url)]) {
      const answered = await browser.answer(page, 'yes');
      expect([answered.status, answered.headers['refresh']]).toEqual([400, undefined]);
      const id = /name="request" value="([^"]*)"/.exec(page.text)![1]!;
      expect((await browser.get(`/agents/consent?request=${id}`)).status).toBe(400);
    }
    expect((await agent.answer(page, 'yes')).status).toBe(200);
  });

  it('is finished by the browser that began alone', async () => {
    const agent = new Agent(service.url);
    const begun = await agent.authorize();
    const victim = new Agent(service.url);
    const finished = await victim.follow(begun);
    expect([finished.status, finished.text]).toEqual([400, expect.stringContaining('not open any more')]);
  });

  it('refuses a form of another site', async () => {
    const agent = new Agent(service.url);
    const page = await agent.ask();
    agent.origin = 'https://evil.example';
    expect((await agent.answer(page, 'yes')).status).toBe(400);
  });

  it('counts for the person whom the page has named', async () => {
    const agent = new Agent(service.url);
    const page = await agent.ask();
    who = 'grace';
    const other = /href="(\/oauth2\/authorize[^"]*)"/.exec(page.text)![1]!.replaceAll('&amp;', '&');
    expect(other).toContain('prompt=select_account');
    const next = await agent.follow(await agent.get(other));
    expect((await agent.answer(page, 'yes')).status).toBe(400);
    expect((await agent.answer(next, 'yes')).status).toBe(200);
  });

  it('ends with the time for an answer', async () => {
    const agent = new Agent(service.url);
    const page = await agent.ask();
    await query(service.databaseUrl, 'UPDATE agent_requests SET expires_at = now()');
    expect((await agent.answer(page, 'yes')).status).toBe(400);
  });

  it('gives a code for one request within a minute', async () => {
    const agent = new Agent(service.url);
    const code = await agent.code();
    await query(service.databaseUrl, 'UPDATE agent_requests SET expires_at = now()');
    expect((await agent.redeem(code).expect(401)).body).toMatchObject({ error: 'invalid_grant' });
    const second = await new Agent(service.url, AGENTS.web, agent).code();
    const answers = await Promise.all([agent.redeem(second), agent.redeem(second)]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(0); // another verifier
  });
});
