import { createHash, randomBytes, randomUUID } from 'node:crypto';
import axe from 'axe-core';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { agentsFile, AGENTS, AGENTS_CONTENT, API, type AgentTokens } from '../../agents/agent.js';
import { DocumentHost } from '../../agents/document-host.js';
import { inChromium } from '../../support/chromium.js';
import { SERVICE_KEY } from '../../support/service.js';
import { bearer, claimsOf, signIn } from '../../support/sign-in.js';
import { StubProvider } from '../../support/stub-provider.js';
import { DemoVisitors } from '../demo-visitor.js';
import { use, useService } from '../../support/use.js';

/** Of the browser. */
declare const getComputedStyle: (element: unknown) => Readonly<Record<string, string>>;

const ARABIC = {
  client_id: 'arabic',
  client_name: 'مساعد (1) الطلبات',
  redirect_uris: ['http://127.0.0.1/cb'],
};
const SEE = 'رؤية طلباتك (2026)';

interface Client {
  readonly client_id: string;
  readonly redirect_uri: string;
}

/** The question of a program, in a browser (docs/agents.md#the-question). */
inChromium('the question of a program', () => {
  let page: Page;
  let who: string;

  const host = use(() => DocumentHost.start());
  /** Receives the browser for programs. */
  const program = use(() => StubProvider.start());
  const { provider, service } = useService(() => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    SERVICE_KEYS: SERVICE_KEY,
    AGENTS_FILE: agentsFile({
      resources: AGENTS_CONTENT.resources.map((one) => ({
        ...one,
        scopes: { ...one.scopes, 'orders:see': SEE },
      })),
      clients: [...AGENTS_CONTENT.clients, ARABIC],
      trust: ['127.0.0.1'],
    }),
  }));
  const visitors = use(() => DemoVisitors.launch());
  beforeAll(() => {
    provider.signInAtOnce(() => who);
    program.answer = (_request, response) =>
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>Done</title>Back in the program');
  });
  beforeEach(async () => {
    who = randomUUID();
    page = await open();
  });
  afterEach(async () => expect(await visitors.leave()).toEqual([]));

  /** Another computer. */
  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const opened = await visitors.open({ locale: 'en', ...options });
    opened.setDefaultTimeout(20_000);
    return opened;
  }
  const local = (): Client => ({ client_id: AGENTS.cli.client_id, redirect_uri: `${program.url}/cb` });
  const verifier = randomBytes(32).toString('base64url');
  /** The address that a program opens. */
  const addressOf = ({ client_id, redirect_uri }: Client): string => {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: API,
    });
    return `${service.url}/oauth2/authorize?${query.toString()}`;
  };
  async function redeem({ client_id, redirect_uri }: Client, from: Page): Promise<AgentTokens> {
    const code = new URL(from.url()).searchParams.get('code')!;
    const answer = await fetch(`${service.url}/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        client_id,
        redirect_uri,
        code_verifier: verifier,
      }),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as AgentTokens;
  }
  const yes = (where = page): Locator => where.getByRole('button', { name: 'Allow', exact: true });
  async function allow(client: Client, where = page): Promise<AgentTokens> {
    await where.goto(addressOf(client));
    await yes(where).click();
    await where.waitForURL(`${client.redirect_uri}**`);
    return redeem(client, where);
  }
  async function findFaults(): Promise<unknown[]> {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  }
  async function picture(name: string): Promise<void> {
    const shots = process.env['SHOTS'];
    if (shots) await page.screenshot({ path: `${shots}/consent-${name}.png`, fullPage: true });
  }
  /** Expects equal sizes and colours of both answers, so that none is suggested. */
  async function expectEqualAnswers(): Promise<void> {
    const looks = await page.locator('.answers button').evaluateAll((all) =>
      all.map((one) => {
        const { color, backgroundColor, borderColor, fontWeight } = getComputedStyle(one);
        const { width, height } = one.getBoundingClientRect();
        return [color, backgroundColor, borderColor, fontWeight, Math.round(width), Math.round(height)];
      }),
    );
    expect(looks).toHaveLength(2);
    expect(looks[0]).toEqual(looks[1]);
  }

  it.each([
    ['light', 1000, 'en'],
    ['dark', 1000, 'en'],
    ['light', 360, 'ja'],
    ['dark', 360, 'de'],
  ] as const)('can be read: %s, %i px, %s', async (colorScheme, width, locale) => {
    page = await open({ colorScheme, locale, viewport: { width, height: 800 } });
    await page.goto(addressOf(local()));
    await page.getByRole('checkbox').nth(1).waitFor();
    await picture(`${colorScheme}-${width}-${locale}`);
    expect(await findFaults()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await expectEqualAnswers();
  });

  it.each(['light', 'dark'] as const)(
    'keeps names from right to left in their places, %s',
    async (colorScheme) => {
      page = await open({ colorScheme, locale: 'ar', viewport: { width: 360, height: 800 } });
      await page.goto(addressOf({ ...local(), client_id: ARABIC.client_id }));
      const [name, sentence] = [page.getByText(ARABIC.client_name), page.getByText(SEE)];
      await sentence.waitFor();
      await picture(`${colorScheme}-rtl`);
      expect(await findFaults()).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      const directionOf = (of: Locator) => of.evaluate((element) => getComputedStyle(element).direction);
      expect(await Promise.all([name, sentence].map(directionOf))).toEqual(['rtl', 'rtl']);
      // The page has no Arabic texts: it is in English.
      expect(await directionOf(page.getByRole('heading', { level: 1 }))).toBe('ltr');
      const boxes = [page.getByRole('checkbox').first(), sentence].map(
        async (one) => (await one.boundingBox())!.x,
      );
      const [tick, text] = await Promise.all(boxes);
      expect(tick).toBeLessThan(text!);
      await expectEqualAnswers();
    },
  );

  it('works without script, by keyboard, and gives what stays ticked', async () => {
    page = await open({ javaScriptEnabled: false });
    await page.goto(addressOf(local()));
    await page.getByText('It cannot prove who it is.').waitFor();
    for (const name of ['Change your orders', SEE]) {
      await page.getByRole('checkbox', { name }).focus();
      await page.keyboard.press('Space');
    }
    await yes().focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${program.url}/cb**`);
    expect(await redeem(local(), page)).toMatchObject({ scope: 'orders:read' });
  });

  it('returns to the program with a refusal', async () => {
    await page.goto(addressOf(local()));
    await page.getByRole('button', { name: 'Do not allow' }).click();
    await page.waitForURL(`${program.url}/cb**`);
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
  });

  it('is of the program whose document is at its client-ID URL', async () => {
    const redirect_uri = `${program.url}/document`;
    host.document = { redirect_uris: [redirect_uri] };
    const client = { client_id: host.clientId, redirect_uri };
    await page.goto(addressOf(client));
    await page.getByText('A Program', { exact: true }).waitFor();
    const tokens = await allow(client);
    expect(claimsOf(tokens.access_token)).toMatchObject({ aud: API, client_id: host.clientId });
    expect(host.paths).toEqual(['/program']);
  });

  it('is refused in the browser of a person to whom its address was sent', async () => {
    await page.goto(addressOf(local()));
    await yes().waitFor();
    const question = page.url();
    const callbacks: string[] = [];
    const victim = await open();
    victim.on('request', (request) => void callbacks.push(request.url()));
    who = randomUUID(); // has a session at the provider, which asks nothing
    await victim.goto(question);
    await victim.getByRole('heading', { name: 'This question is not open any more' }).waitFor();
    expect(await victim.getByRole('button').count()).toBe(0);
    // A browser that has asked for itself has a cookie, of another question.
    await victim.goto(addressOf(local()));
    await yes(victim).waitFor();
    await victim.goto(question);
    await victim.getByRole('heading', { name: 'This question is not open any more' }).waitFor();
    expect(callbacks.filter((url) => url.startsWith(program.url))).toEqual([]);
    await yes().click(); // in the browser that began
    await page.waitForURL(`${program.url}/cb**`);
  });

  it('makes each computer of a person a device, and a computer that asks again the same one', async () => {
    const second = await open();
    const [one, other] = [await allow(local()), await allow(local(), second)];
    const deviceOf = ({ access_token }: AgentTokens) => claimsOf(access_token)['device_id'];
    expect(deviceOf(one)).not.toBe(deviceOf(other));
    const again = await allow(local());
    expect(deviceOf(again)).toBe(deviceOf(one));
    const { user_id } = await signIn(service.url, who, { device_id: randomUUID() });
    const { body } = await bearer(service.url, SERVICE_KEY).get(`/users/${user_id}/devices`).expect(200);
    const { devices } = body as { devices: { device_id: string; agent?: object }[] };
    const programs = devices.filter(({ agent }) => agent).map(({ device_id }) => device_id);
    expect(new Set(programs)).toEqual(new Set([deviceOf(one), deviceOf(other)]));
  });
});
