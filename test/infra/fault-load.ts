import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { reportFault } from './faults.js';
import { SERVICE_KEY } from '../support/service-process.js';
import { SocketClient, type Received } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { json } from 'node:stream/consumers';

/** Counts requests by their kind, and the longest time without a success of each. */
export class FaultTally {
  requests = 0;
  failed = 0;
  /** What the failures were, e.g. `push 500`, and how often each. */
  readonly failures = new Map<string, number>();
  private readonly lastSuccess = new Map<string, number>();
  private readonly gaps = new Map<string, number>();

  /** @param outcome a status, or a code such as `ECONNREFUSED` */
  add(kind: string, succeeded: boolean, outcome: string): void {
    this.requests++;
    if (succeeded) {
      this.endGap(kind);
    } else {
      this.failed++;
      const failure = `${kind} ${outcome}`;
      this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1);
    }
  }

  /** Milliseconds, of the kind for which it was longest; the time until now counts. */
  longestGap(): number {
    for (const kind of this.lastSuccess.keys()) this.endGap(kind);
    return Math.max(0, ...this.gaps.values());
  }

  private endGap(kind: string): void {
    const now = performance.now();
    const gap = now - (this.lastSuccess.get(kind) ?? now);
    this.lastSuccess.set(kind, now);
    this.gaps.set(kind, Math.max(gap, this.gaps.get(kind) ?? 0));
  }
}

const LONGEST_MS = 15_000;

export interface Answered {
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** An instance, not a proxy, says that the database was too slow. */
  readonly isBusy: boolean;
}

/** The outcome of requests for which the database of a busy machine was too slow. */
const SLOW_DATABASE = 'slow database';

/** A strict client: keep-alive, no retries, and every answer that is no success counts as failed. */
export class FaultHttp {
  private readonly plain = new Agent({ keepAlive: true });
  private readonly tls: https.Agent;

  /** @param ca what to trust at `https:` addresses */
  constructor(
    private readonly tally: FaultTally,
    ca?: string,
  ) {
    this.tls = new https.Agent({ keepAlive: true, ...(ca !== undefined && { ca }) });
  }

  /** @returns the answer, or undefined when there was none or it is no success; never throws */
  async counted(kind: string, url: string, body?: object, bearer?: string): Promise<Answered | undefined> {
    try {
      const answer = await this.ask(url, body, bearer);
      const succeeded = answer.status < 300;
      this.tally.add(kind, succeeded, answer.isBusy ? SLOW_DATABASE : String(answer.status));
      return succeeded ? answer : undefined;
    } catch (error) {
      this.tally.add(kind, false, (error as NodeJS.ErrnoException).code ?? (error as Error).name);
      return undefined;
    }
  }

  /** A POST of JSON, or a GET without a body. Not counted. @param more headers */
  async ask(url: string, body?: object, bearer?: string, more: object = {}): Promise<Answered> {
    const headers = {
      ...more,
      ...(body && { 'Content-Type': 'application/json' }),
      ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
    };
    const signal = AbortSignal.timeout(LONGEST_MS);
    const options = { method: body ? 'POST' : 'GET', headers, signal };
    const call = url.startsWith('https:')
      ? https.request(url, { ...options, agent: this.tls })
      : request(url, { ...options, agent: this.plain });
    call.end(body && JSON.stringify(body));
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    const text = response.headers['content-type']?.includes('json');
    if (!text) response.resume();
    const { 'retry-after': retryAfter, 'x-request-id': requestId } = response.headers;
    return {
      status: response.statusCode!,
      isBusy: response.statusCode === 500 && retryAfter !== undefined && requestId !== undefined,
      body: text ? ((await json(response)) as Answered['body']) : {},
    };
  }

  close(): void {
    this.plain.destroy();
    this.tls.destroy();
  }
}

const PAUSE_MS = 100;

/**
 * Load of sign-ins, refreshes, pushes and sockets during a fault. Afterwards it checks all that was acknowledged: each token
 * must work, and each push must have arrived once and in order at the open socket, and at a new one that reads the whole
 * history.
 */
export class FaultLoad {
  readonly tally = new FaultTally();
  private readonly http: FaultHttp;
  private readonly people: FaultPerson[];
  private ended = false;
  private work: Promise<unknown> = Promise.resolve();

  private constructor(urls: readonly string[], people: number, ca?: string) {
    this.http = new FaultHttp(this.tally, ca);
    const addresses = urls.map((url) => url.replace('//localhost:', '//127.0.0.1:'));
    this.people = Array.from({ length: people }, (_, i) => new FaultPerson(this.http, addresses, i, ca));
  }

  /**
   * Resolves once all users have signed in and listen.
   * @param urls of instances, or of the proxy before them; requests go to them in turn
   * @param people each sends some 20 requests a second
   * @param ca what to trust at `https:` addresses
   */
  static async start(urls: readonly string[], people = 8, ca?: string): Promise<FaultLoad> {
    const load = new FaultLoad(urls, people, ca);
    await Promise.all(load.people.map((person) => person.begin()));
    load.work = Promise.all(load.people.map((person) => person.run(() => load.ended, PAUSE_MS)));
    return load;
  }

  /** Resolves after `count` more successful requests. */
  async successes(count: number): Promise<void> {
    const { tally } = this;
    const succeeded = (): number => tally.requests - tally.failed;
    const wanted = succeeded() + count;
    while (succeeded() < wanted && !this.ended) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Each failure as `<kind of request> <status>`, without those of a slow database on a busy machine. */
  unexcused(): string[] {
    const failures = [...this.tally.failures].flatMap(([failure, count]) =>
      Array<string>(count).fill(failure),
    );
    return failures.filter((failure) => !failure.endsWith(SLOW_DATABASE));
  }

  /** Ends the load, reports it, and expects all that was acknowledged, once and in order: the service must be well again. */
  async finish(fault: string, notes?: string): Promise<void> {
    await this.end();
    const longestGapMs = this.tally.longestGap();
    const damages = await Promise.all(this.people.map((person) => person.damage()));
    const sum = (of: (damage: Damage) => number): number => damages.reduce((all, one) => all + of(one), 0);
    const { requests, failed } = this.tally;
    const lost = sum((damage) => damage.lost);
    const doubled = sum((damage) => damage.doubled);
    const acknowledged = this.people.reduce((all, person) => all + person.acknowledged, 0);
    expect(acknowledged).toBeGreaterThan(0);
    reportFault({
      fault,
      requests,
      failed,
      longestGapMs,
      acknowledged,
      lost,
      doubled,
      ...(notes !== undefined && { notes }),
    });
    const disordered = sum((damage) => damage.disordered);
    expect({ lost, doubled, disordered }).toEqual({ lost: 0, doubled: 0, disordered: 0 });
  }

  /** Closes all sockets and requests, also after a failed test. */
  async close(): Promise<void> {
    await this.end();
    for (const person of this.people) person.close();
    this.http.close();
  }

  private async end(): Promise<void> {
    this.ended = true;
    await this.work;
  }
}

const ROUNDS_A_SIGN_IN = 10;
const EVENT = 'fault.push';
const LAST = 'fault.last';
const AT_ONCE = 3; // checks of one person

/** What is wrong with what was acknowledged to one person. */
export interface Damage {
  lost: number;
  doubled: number;
  disordered: number;
}

/** One user: signs in, refreshes and receives pushes in a loop, with a socket that reconnects with its offset. */
export class FaultPerson {
  private readonly name = randomUUID();
  private userId = '';
  /** Acknowledged: refresh tokens, access tokens, and the pushes' numbers with their offsets. */
  readonly refreshTokens: string[] = [];
  readonly accessTokens: string[] = [];
  readonly pushed = new Map<number, number>();
  private socket?: SocketClient;
  /** First offset of the socket, for a reconnection before its first event. */
  private beginning: number | undefined;
  private hasLeft = false;
  private pushes = 0;
  private calls = 0;

  /**
   * @param urls of instances or proxies, used in turn
   * @param first with which of them to begin
   * @param ca what to trust at `https:` addresses
   */
  constructor(
    private readonly http: FaultHttp,
    private readonly urls: readonly string[],
    private readonly first: number,
    private readonly ca?: string,
  ) {}

  /** Signs in, and resolves once the socket is ready. */
  async begin(): Promise<void> {
    while (this.accessTokens.length === 0) await this.signIn();
    this.socket = this.open(() => this.beginning);
    const { data } = await this.socket.next('ready');
    this.beginning = (data as { offset: number }).offset;
  }

  /** @param ended returns whether to stop */
  async run(ended: () => boolean, pauseMs: number): Promise<void> {
    for (let round = 1; !ended(); round++) {
      await this.refresh();
      await this.push();
      if (round % ROUNDS_A_SIGN_IN === 0) await this.signIn();
      await delay(pauseMs * (0.5 + Math.random()));
    }
  }

  get acknowledged(): number {
    return this.refreshTokens.length + this.accessTokens.length + this.pushed.size;
  }

  /** Asks the service, which is well again, for all that it has acknowledged. */
  async damage(): Promise<Damage> {
    await until(async () => {
      const last = { user_id: this.userId, event: LAST };
      return (await this.http.ask(`${this.url()}/push`, last, SERVICE_KEY)).status === 202;
    });
    const stored = this.open(() => 0);
    try {
      const sockets = [this.socket!, stored];
      await until(() => sockets.every((socket) => socket.of(LAST).length > 0));
      const damages = [await this.lostTokens(), ...sockets.map(({ history }) => this.damageOf(history))];
      const most = (kind: keyof Damage): number => Math.max(...damages.slice(1).map((one) => one[kind]));
      return {
        lost: damages[0]!.lost + most('lost'),
        doubled: most('doubled'),
        disordered: most('disordered'),
      };
    } finally {
      this.hasLeft = true;
      stored.close();
    }
  }

  close(): void {
    this.hasLeft = true;
    this.socket?.close();
  }

  private async signIn(): Promise<void> {
    const begun = await this.http.counted('authorize', `${this.url()}/oauth2/authorize?provider=stub`);
    if (!begun) return;
    const body = { code: this.name, state: begun.body['state'] };
    const answer = await this.http.counted('token', `${this.url()}/oauth2/token`, body);
    if (!answer) return;
    this.userId = answer.body['user_id'] as string;
    this.refreshTokens.push(answer.body['refresh_token'] as string);
    this.accessTokens.push(answer.body['access_token'] as string);
  }

  private async refresh(): Promise<void> {
    const body = { refresh_token: this.refreshTokens.at(-1) };
    const answer = await this.http.counted('refresh', `${this.url()}/oauth2/refresh`, body);
    if (answer) this.accessTokens.push(answer.body['access_token'] as string);
  }

  private async push(): Promise<void> {
    const body = { user_id: this.userId, event: EVENT, data: this.pushes++ };
    const answer = await this.http.counted('push', `${this.url()}/push`, body, SERVICE_KEY);
    if (answer) this.pushed.set(body.data, answer.body['offset'] as number);
  }

  private async lostTokens(): Promise<Damage> {
    const refreshed = this.refreshTokens.map(
      (refresh_token) => () => this.http.ask(`${this.url()}/oauth2/refresh`, { refresh_token }),
    );
    const shown = this.accessTokens.map((token) => () => this.http.ask(`${this.url()}/me`, undefined, token));
    const checks = [...refreshed, ...shown];
    let lost = 0;
    let tries = 300;
    const check = async (): Promise<void> => {
      for (let ask = checks.pop(); ask; ask = checks.pop()) {
        const { status } = await ask();
        if (status === 200) continue;
        if (status < 500 || tries-- === 0) {
          lost++;
        } else {
          checks.push(ask); // says nothing about the token
          await delay(100);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, check));
    return { lost, doubled: 0, disordered: 0 };
  }

  /** A failed push may have been stored: it may arrive, but only once. */
  private damageOf(history: readonly Received[]): Damage {
    const pushes = history.filter(({ event }) => event === EVENT);
    const offsets = new Map(pushes.map(({ data, meta }) => [data as number, meta!.offset]));
    const lost = [...this.pushed].filter(([number, offset]) => offsets.get(number) !== offset).length;
    const disordered = history.filter(
      ({ meta }, i) => i > 0 && meta!.offset! <= history[i - 1]!.meta!.offset!,
    ).length;
    return { lost, doubled: pushes.length - offsets.size, disordered };
  }

  /** Opens a socket that reconnects with its offset. @param from the offset before the first event */
  private open(from: () => number | undefined): SocketClient {
    const comesBack = { reconnection: true, reconnectionDelay: 100, reconnectionDelayMax: 500 };
    const auth = (send: (auth: object) => void): void => {
      const offset = client.history.at(-1)?.meta?.offset ?? from();
      send({ token: this.accessTokens.at(-1), ...(offset !== undefined && { offset }) });
    };
    const ca = this.ca !== undefined && { ca: this.ca };
    const client = SocketClient.open(this.url(), auth, { ...comesBack, ...ca });
    const { socket } = client;
    // A stock client does not reconnect after a refusal or a close by the service: the application decides.
    const comeBack = (): void =>
      void setTimeout(() => this.hasLeft || socket.active || socket.connect(), 200).unref();
    socket.on('connect_error', comeBack);
    socket.on('disconnect', comeBack);
    return client;
  }

  private url(): string {
    return this.urls[(this.first + this.calls++) % this.urls.length]!;
  }
}
