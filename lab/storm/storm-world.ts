import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContext } from 'playwright-core';
import { DataSource } from 'typeorm';
import { AuditStore } from '../../src/audit/audit.store.js';
import { RealtimeService } from '../../src/realtime/push/realtime.service.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { launchChromium } from '../../test/support/chromium.js';
import { ClientApp } from '../../test/support/client-app.js';
import { createDatabase, type TestDatabase } from '../../test/support/database.js';
import { startTestService, type TestService } from '../../test/support/service.js';
import { claimsOf, signIn, type Tokens } from '../../test/support/sign-in.js';
import { StubProvider } from '../../test/support/stub-provider.js';
import { APP_SCRIPT, BEFORE } from './app-script.js';
import { Gate } from './gate.js';
import { TIME_PASSES, type Freeze, type Trouble } from './judgement.js';
import { Tab } from './tab.js';
import { TurnedClock } from './turned-clock.js';

/** The user of the browser: the stub provider makes the code the user. */
const USER = 'ada';
const LONGEST_PREPARATION_MS = 1500;
/** Until the gate has noticed that a tab has given up what it waited for. */
const NOTICED_MS = 20;
/** Seconds: no event is too old for a device that has slept. */
const EVENT_TTL = 31_536_000;

export class StormWorld {
  tabs: Tab[] = [];
  readonly troubles: Trouble[] = [];
  readonly freezes: ({ tab: Tab } & Freeze)[] = [];
  /** The timers of all tabs went forward: when, and by how much. */
  private readonly jumps: { at: number; by: number }[] = [];
  /** Offsets of the events that were pushed to the user. */
  readonly pushed = new Set<number>();
  private wrong = 0;
  private env: Record<string, string> = {};
  private userId = '';
  services: TestService[] = [];

  private constructor(
    private readonly provider: StubProvider,
    private readonly database: TestDatabase,
    readonly clock: TurnedClock,
    readonly gate: Gate,
    private readonly app: ClientApp,
    private readonly browser: Browser,
    readonly context: BrowserContext,
  ) {}

  static async start(): Promise<StormWorld> {
    const [provider, database, gate, app, browser] = await Promise.all([
      StubProvider.start(),
      createDatabase(),
      Gate.start(),
      ClientApp.start(),
      launchChromium(),
    ]);
    const identify = provider.answer;
    provider.answer = (request, response, raw) => {
      if (request.method !== 'GET') return identify(request, response, raw);
      const query = new URL(request.path, provider.url).searchParams;
      const callback = `${query.get('redirect_uri')}?code=${USER}&state=${query.get('state')}`;
      response.writeHead(302, { Location: callback }).end();
    };
    const clock = await TurnedClock.of(database.url);
    app.service = gate.url;
    app.also = APP_SCRIPT;
    const context = await browser.newContext();
    context.setDefaultTimeout(20_000);
    await context.addInitScript(BEFORE);
    await context.clock.install();
    const world = new StormWorld(provider, database, clock, gate, app, browser, context);
    world.env = { ...provider.env(), PUBLIC_URL: gate.url, DATABASE_URL: clock.url };
    await world.startServices(2);
    return world;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.app.close();
    await this.gate.close();
    await Promise.all(this.services.map((service) => service.close()));
    await this.database.drop();
    await this.provider.close();
  }

  /** The name under which the client stores the session. */
  get key(): string {
    return `latchkey:${this.gate.url}`;
  }

  async open(): Promise<Tab> {
    const options = encodeURIComponent(JSON.stringify({ provider: 'stub', askAgain: false }));
    const tab = await Tab.open(this.context, `${this.app.url}/?options=${options}`);
    this.tabs.push(tab);
    return tab;
  }

  async signIn(tab: Tab): Promise<void> {
    await tab.page.evaluate('latchkey.signIn()');
    this.userId = (await tab.page.evaluate('latchkey.session.userId')) as string;
  }

  otherDevice(deviceId: string): Promise<Tokens> {
    return signIn(this.services[0]!.url, USER, { device_id: deviceId, device_name: 'another' });
  }

  async push(data: unknown): Promise<void> {
    const service = this.services[this.pushed.size % this.services.length]!;
    const { offset } = await service.app
      .get(RealtimeService)
      .push(this.userId, 'note', data, { ttl: EVENT_TTL });
    this.pushed.add(offset!);
  }

  async startServices(count: number): Promise<void> {
    const started = await Promise.all(Array.from({ length: count }, () => startTestService(this.env)));
    this.services.push(...started);
    this.gate.instances = this.services.map(({ url }) => url);
  }

  /** Stops the oldest instances, new ones in their places. */
  async restart(count: number): Promise<void> {
    const old = this.services.splice(0, count);
    this.gate.instances = this.services.map(({ url }) => url);
    await Promise.all(old.map((service) => service.close()));
    await this.startServices(count);
  }

  get keys(): KeyStore {
    const { app, settings } = this.services[0]!;
    return new KeyStore(app.get(DataSource), app.get(AuditStore), settings);
  }

  /** Withdraws the key by which a token is signed. */
  async revokeKey(token: string): Promise<void> {
    const header = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string };
    await this.keys.revoke(header.kid);
  }

  async closeTab(tab: Tab): Promise<void> {
    this.tabs = this.tabs.filter((one) => one !== tab);
    await tab.page.close();
  }

  async freeze(tab: Tab, isFrozen: boolean): Promise<void> {
    if (isFrozen) this.freezes.push({ tab, from: Date.now() });
    const last = this.freezes.findLast((one) => one.tab === tab);
    if (!isFrozen && last) last.thawing = Date.now();
    await tab.freeze(isFrozen);
    if (!isFrozen && last) last.to = Date.now();
  }

  async trouble(what: string, work: () => Promise<unknown>): Promise<void> {
    const trouble: Trouble = { what, from: Date.now() };
    this.troubles.push(trouble);
    try {
      await work();
    } finally {
      trouble.to = Date.now();
    }
  }

  /** A moment of the machine's clock, by the clock of the tabs' timers. */
  readonly timersTime = (moment: number): number =>
    this.jumps.reduce((time, { at, by }) => (at <= moment ? time + by : time), moment);

  /** The true time; milliseconds since the epoch. */
  now(): number {
    return this.clock.at(Date.now());
  }

  /**
   * Time goes by, at the service and on the device, as it does: at once. Neither learns in between that the other's clock is another,
   * and no tab asks for a token then whose timers are not due yet.
   * @param isAwake whether the device's timers and its monotonic clock go on: not while some systems sleep
   */
  async elapse(milliseconds: number, isAwake: boolean): Promise<void> {
    // A frozen tab must not notice: Playwright would run its timers.
    const jumps = isAwake && this.tabs.every(({ isFrozen }) => !isFrozen);
    await this.gate.hold(async () => {
      await this.untilNobodyPrepares();
      await this.trouble(TIME_PASSES, async () => {
        await this.clock.turn(milliseconds, this.services);
        if (!jumps) return this.setDeviceClock();
        this.jumps.push({ at: Date.now(), by: milliseconds });
        await this.context.clock.fastForward(milliseconds);
        await delay(NOTICED_MS);
      });
    });
  }

  private async untilNobodyPrepares(): Promise<void> {
    const [tab] = this.tabs;
    if (!tab || this.tabs.some(({ isFrozen }) => isFrozen)) return;
    const end = performance.now() + LONGEST_PREPARATION_MS;
    while (performance.now() < end) {
      const held = await tab.page
        .evaluate<number>('navigator.locks.query().then(({ held }) => held.length)')
        .catch(() => 0); // it is being loaded
      if (held === 0 || this.gate.isRefreshing) return;
      await delay(10);
    }
  }

  async setClock(by: number): Promise<void> {
    await this.lookAtClocks();
    this.wrong += by;
    await this.setDeviceClock();
    await this.lookAtClocks();
  }

  private async lookAtClocks(): Promise<void> {
    for (const { page, isFrozen } of this.tabs)
      if (!isFrozen) await page.evaluate('void latchkey.accessToken().catch(() => 0)');
  }

  private async setDeviceClock(): Promise<void> {
    // The clock of a frozen tab adds what it has missed when it is looked at next: before it is set, not after that.
    for (const { page, isFrozen } of this.tabs) if (isFrozen) await page.evaluate('Date.now()');
    await this.context.clock.setSystemTime(this.now() + this.wrong);
  }

  /** Seconds for which a token is good, by the true clock. */
  secondsLeft(token: string | undefined): number {
    if (!token?.startsWith('eyJ')) return -1;
    return (claimsOf(token)['exp'] as number) - this.now() / 1000;
  }
}
