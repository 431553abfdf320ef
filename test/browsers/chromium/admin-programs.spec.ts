import { randomUUID } from 'node:crypto';
import { Agent, agentsFile, AGENTS, OTHER_API, type AgentTokens } from '../../agents/agent.js';
import { inChromium } from '../../support/chromium.js';
import { SERVICE_KEY, startTestService } from '../../support/service.js';
import { bearer, claimsOf, signIn } from '../../support/sign-in.js';
import { expectAccessible, signInAs, takePictures } from '../admin-visitor.js';
import { useVisitors } from '../demo-visitor.js';
import { use, useService } from '../../support/use.js';

const AT_OTHER = { resource: OTHER_API };

/** Programs of third parties on the administration page (docs/agents.md#how-it-ends). */
inChromium('the administration page', () => {
  let who: string;

  const { provider, service } = useService(() => ({
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile(),
  }));
  const plain = use(() => startTestService());
  const { page } = useVisitors();
  beforeAll(() => provider.signInAtOnce(() => who));
  beforeEach(() => page.setDefaultTimeout(20_000));

  /** A program with a session. */
  const allow = async (client: (typeof AGENTS)[keyof typeof AGENTS], user = randomUUID(), more = {}) => {
    who = user;
    const agent = new Agent(service.url, client);
    const tokens = await agent.allowed({ provider: 'stub', ...more });
    const refresh = async (): Promise<number> => (await agent.refresh(tokens)).status;
    return { tokens, refresh };
  };
  const endOf = ({ access_token }: AgentTokens) => {
    const { sub, device_id } = claimsOf(access_token);
    return { path: `/users/${sub as string}/sign-out`, body: { device_id } };
  };
  const programs = () => page.getByRole('region', { name: 'Programs that act for users' });
  const endButton = (program: string) =>
    page.getByRole('button', { name: `End for all users ${program}`, exact: true });
  const dialog = () => page.getByRole('dialog');
  const said = (text: string): Promise<void> => page.getByRole('status').getByText(text).waitFor();

  it('lists programs with their sessions, and ends one at one API for all users', async () => {
    const ended = [await allow(AGENTS.web), await allow(AGENTS.web)];
    const others = [await allow(AGENTS.web, undefined, AT_OTHER), await allow(AGENTS.cli)];
    await signInAs(page, `${service.url}/admin`, 'Grace');
    await endButton('Web Agent at api.example/mcp').waitFor();
    const texts = await programs().getByRole('row').allTextContents();
    expect(texts.slice(1).map((text) => text.replace(/End.*/, ''))).toEqual([
      'Web Agentweb-agentapi.example/mcp2',
      'CLI Agentcli-agentapi.example/mcp1',
      'Web Agentweb-agentother.example1',
    ]);
    await expectAccessible(page, 'programs');
    await takePictures(page, 'admin-programs');

    await endButton('Web Agent at api.example/mcp').click();
    await dialog().getByText('2 sessions of Web Agent at api.example/mcp end at once.').waitFor();
    await expectAccessible(page, 'the end of a program');
    await takePictures(page, 'admin-end-program');
    await page.keyboard.press('Escape');
    expect(await Promise.all(ended.map(({ refresh }) => refresh()))).toEqual([200, 200]);

    await endButton('Web Agent at api.example/mcp').click();
    await dialog().getByRole('button', { name: 'End for all users' }).click();
    await said('2 sessions have ended.');
    await endButton('Web Agent at api.example/mcp').waitFor({ state: 'detached' });
    expect(await programs().getByRole('row').count()).toBe(3); // with the head
    expect(await Promise.all(ended.map(({ refresh }) => refresh()))).toEqual([401, 401]);
    expect(await Promise.all(others.map(({ refresh }) => refresh()))).toEqual([200, 200]);
  });

  it('shows how many are left, and goes on after an interruption', async () => {
    const all = [await allow(AGENTS.cli, undefined, AT_OTHER), await allow(AGENTS.cli, undefined, AT_OTHER)];
    await signInAs(page, `${service.url}/admin`, 'Ada');
    let calls = 0;
    await page.route('**/agents/sign-out', async (route) => {
      if (++calls > 1) return route.continue();
      const { path, body } = endOf(all[0]!.tokens);
      await bearer(service.url, SERVICE_KEY).post(path, body).expect(200);
      await dialog().getByText('Sessions left: 1 of 2.').waitFor();
      return route.abort('connectionreset');
    });
    await endButton('CLI Agent at other.example').click();
    await dialog().getByRole('button', { name: 'End for all users' }).click();
    await said('2 sessions have ended.');
    await endButton('CLI Agent at other.example').waitFor({ state: 'detached' });
    expect(calls).toBe(2);
  });

  it('shows an error, and ends nothing more, if no session has ended meanwhile', async () => {
    const { refresh } = await allow(AGENTS.cli, undefined, AT_OTHER);
    await signInAs(page, `${service.url}/admin`, 'Ada');
    await page.route('**/agents/sign-out', (route) => route.abort('connectionreset'));
    await endButton('CLI Agent at other.example').click();
    await dialog().getByRole('button', { name: 'End for all users' }).click();
    await dialog().getByRole('alert').getByText('Latchkey cannot be reached.').waitFor();
    expect(await refresh()).toBe(200);
    await page.unroute('**/agents/sign-out');
    await dialog().getByRole('button', { name: 'Try again' }).click();
    await said('One session has ended.');
    expect(await refresh()).toBe(401);
  });

  it('shows the programs of a user apart from devices, with what they may do, and ends one', async () => {
    const user = randomUUID();
    const { user_id } = await signIn(service.url, user, { device_id: randomUUID(), device_name: 'Phone' });
    const { refresh } = await allow(AGENTS.web, user, { scope: 'orders:read' });
    await signInAs(page, `${service.url}/admin/users/${user_id}`, 'Grace');
    const part = page.getByRole('region', { name: 'Programs that act for the user' });
    await part.getByText('orders:read').waitFor();
    expect(await part.getByRole('row').nth(1).textContent()).toMatch(
      /^Web Agentweb-agentorders:readat api\.example\/mcp/,
    );
    const devices = page.getByRole('region', { name: 'Devices', exact: true });
    expect(await devices.getByRole('row').allTextContents()).toEqual([
      expect.anything(),
      expect.stringContaining('Phone'),
    ]);
    const sessions = page.getByRole('region', { name: 'Sessions' });
    expect(await sessions.getByRole('row').nth(1).textContent()).toMatch(/^Web AgentWeb Agent a6e17000/);
    await sessions.getByRole('button', { name: /^Web Agent/ }).click();
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Web Agent');
    await expectAccessible(page, 'programs of a user');
    await takePictures(page, 'admin-user-programs');

    await part.getByRole('button', { name: 'End Web Agent at api.example/mcp' }).click();
    await dialog().getByText('Web Agent can act for').waitFor();
    await dialog().getByRole('button', { name: 'End the program' }).click();
    await said('One session has ended.');
    await part.waitFor({ state: 'detached' });
    expect(await refresh()).toBe(401);
    await devices.getByText('1 signed-out device').click();
    await devices.getByText('Web Agent').waitFor();
  });

  it('has no list without AGENTS_FILE', async () => {
    const answered = page.waitForResponse('**/admin/agents');
    await signInAs(page, `${plain.url}/admin`, 'Grace');
    expect((await answered).status()).toBe(404);
    await page.getByRole('heading', { name: 'Providers' }).waitFor();
    expect(await programs().count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});
