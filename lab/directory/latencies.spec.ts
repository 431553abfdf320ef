import { randomUUID } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { createVerifier, type Verifier } from '../../packages/server/src/index.js';
import { launchChromium } from '../../test/support/chromium.js';
import { ClientApp, storeSession } from '../../test/support/client-app.js';
import { createDatabase } from '../../test/support/database.js';
import { DIRECTORY_ENV, DirectoryClient } from '../../test/support/directory.js';
import { Endings } from '../../test/support/endings.js';
import { startServiceProcess, type ServiceProcess } from '../../test/support/service-process.js';
import { signIn, type Tokens } from '../../test/support/sign-in.js';
import { SocketClient } from '../../test/support/socket-client.js';
import { StubProvider } from '../../test/support/stub-provider.js';
import { until } from '../../test/support/waiting.js';
import { options, report } from '../options.js';

/** Changes of a short run; `--changes` has another number. */
const CHANGES = 50;
/** Milliseconds from the answer (docs/directory.md). */
const BOUND = 1000;
/** A look after the bound, which then shows how late it was. */
const LONGEST = 10_000;
const SERVICE_KEY = 'k'.repeat(32);
/** Changes at a time, each with a separate page. */
const LANES = 4;

interface Lane {
  readonly page: Page;
  onSignedOut: () => void;
}

/**
 * Each change deactivates another user: by a request to one instance. The sessions are at the other one.
 * Measured from the answer, by one clock: until a refresh is refused, two APIs with the verifier refuse the
 * token, the socket is closed, and the SDK in a page of Chromium says that the session has ended.
 */
describe('the word of a directory', () => {
  const endings = new Endings();
  const times = new Map<string, number[]>();
  let instances: readonly ServiceProcess[];
  let apis: readonly Verifier[];
  let lanes: Lane[];
  let service: string;

  beforeAll(async () => {
    const database = endings.after(await createDatabase(), (one) => one.close());
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    const app = endings.after(await ClientApp.start(), (one) => one.close());
    const browser: Browser = endings.after(await launchChromium(), (one) => one.close());
    const env = {
      ...provider.env(),
      ...DIRECTORY_ENV,
      DATABASE_URL: database.url,
      PUBLIC_URL: 'http://latchkey.test',
      SERVICE_KEYS: SERVICE_KEY,
      RATE_LIMIT: 'off',
      CORS_ORIGINS: app.url,
    };
    const started = [await startServiceProcess(env), await startServiceProcess(env)];
    for (const one of started) endings.after(one, () => one.end('SIGKILL'));
    instances = started;
    service = started[1]!.url;
    app.service = service;
    apis = started.map(({ url }) =>
      createVerifier({ issuer: env.PUBLIC_URL, url, serviceKey: SERVICE_KEY, onWarning: () => undefined }),
    );
    for (const api of apis) endings.after(api, (one) => one.close());
    await until(() => apis.every(({ isNotified }) => isNotified));
    app.also = `latchkey.on('signedOut', () => told());`;
    lanes = await Promise.all(Array.from({ length: LANES }, () => open(browser, app.url)));
  });
  afterAll(() => endings.run());

  it('counts within a second', async () => {
    const directory = new DirectoryClient(instances[0]!);
    let left = options.changes ?? CHANGES;
    const work = async (lane: Lane): Promise<void> => {
      while (left-- > 0) await measure(directory, lane);
    };
    await Promise.all(lanes.map(work));
    for (const [what, all] of times) {
      const sorted = all.toSorted((a, b) => a - b);
      const at = (share: number): string => sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(0);
      report(`${what}, of ${all.length} (ms)`, `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`);
    }
    for (const [what, all] of times) expect([what, Math.max(...all) <= BOUND]).toEqual([what, true]);
  });

  async function open(browser: Browser, url: string): Promise<Lane> {
    const page = await browser.newPage(); // with a separate context
    const lane: Lane = { page, onSignedOut: () => undefined };
    await page.exposeFunction('told', () => lane.onSignedOut());
    await page.goto(url);
    return lane;
  }

  async function measure(directory: DirectoryClient, lane: Lane): Promise<void> {
    const { page } = lane;
    const user = randomUUID();
    const id = await directory.create('/Users', { userName: user, externalId: user });
    const tokens = await signIn(service, user);
    await storeSession(page, service, user);
    await page.evaluate('latchkey.connect().then(() => 1)');
    const socket = await SocketClient.connect(service, tokens.access_token);
    for (const api of apis) await api.verify(tokens.access_token);
    const changed = new Promise<void>((resolve) => (lane.onSignedOut = resolve));
    const closed = socket.closed();
    await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }).expect(200);
    const answered = performance.now();
    const note = async (what: string, happened: Promise<unknown>): Promise<void> => {
      await happened;
      const all = times.get(what) ?? [];
      times.set(what, [...all, Math.max(0, performance.now() - answered)]);
    };
    await Promise.all([
      note(
        'refresh refused',
        refused(() => refresh(tokens)),
      ),
      ...apis.map((api, i) =>
        note(
          `API ${i + 1} refuses`,
          refused(() => accepts(api, tokens)),
        ),
      ),
      note('socket closed', closed),
      note('page changed', changed),
    ]);
  }

  async function refused(works: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + LONGEST;
    while (await works()) {
      if (performance.now() > end) throw new Error('it is never refused');
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async function refresh({ refresh_token }: Tokens): Promise<boolean> {
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ refresh_token });
    return (await fetch(`${service}/oauth2/refresh`, { method: 'POST', headers, body })).ok;
  }

  function accepts(api: Verifier, { access_token }: Tokens): Promise<boolean> {
    return api.verify(access_token).then(
      () => true,
      () => false,
    );
  }
});
