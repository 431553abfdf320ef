import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { FaultHttp, SLOW_DATABASE, FaultTally } from './fault-http.js';
import { reportFault } from './faults.js';
import { Cluster } from './cluster.js';
import { SocketClient, type Received } from './socket-client.js';
import { until } from './waiting.js';

const PAUSE_MS = 100;

/**
 * Sign-ins, refreshes, pushes and sockets that go on while something is broken. Afterwards it asks for everything that
 * was acknowledged: each token must work, and each push must have come once and in order to a socket that was there all
 * the time, and to one that comes now and asks for the whole history.
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
   * Resolves once everybody has signed in and listens.
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

  /** Resolves after so many more successes: work goes on (again). */
  async successes(count: number): Promise<void> {
    const { tally } = this;
    const succeeded = (): number => tally.requests - tally.failed;
    const wanted = succeeded() + count;
    while (succeeded() < wanted && !this.ended) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Failures that are not those of a busy machine, whose database takes too long: `<kind of request> <status>`. */
  unexcused(): string[] {
    return [...this.tally.failures.keys()].filter((failure) => !failure.endsWith(SLOW_DATABASE));
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

  /** Also where a test has failed: leaves no socket, and no request under way. */
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

/** Signs in, refreshes and is pushed to, again and again, with a socket that comes back by itself with its offset. */
export class FaultPerson {
  private readonly name = randomUUID();
  private userId = '';
  /** Acknowledged: refresh tokens, access tokens, and the pushes' numbers with their offsets. */
  readonly refreshTokens: string[] = [];
  readonly accessTokens: string[] = [];
  readonly pushed = new Map<number, number>();
  private socket?: SocketClient;
  /** Where that socket began: it may be cut before its first event. */
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

  /** @param ended tells whether to stop */
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
      return (await this.http.ask(`${this.url()}/push`, last, Cluster.serviceKey)).status === 202;
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
    const answer = await this.http.counted('push', `${this.url()}/push`, body, Cluster.serviceKey);
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

  /** A push that failed may have been written all the same: it may come, but once. */
  private damageOf(history: readonly Received[]): Damage {
    const pushes = history.filter(({ event }) => event === EVENT);
    const offsets = new Map(pushes.map(({ data, meta }) => [data as number, meta!.offset]));
    const lost = [...this.pushed].filter(([number, offset]) => offsets.get(number) !== offset).length;
    const disordered = history.filter(
      ({ meta }, i) => i > 0 && meta!.offset! <= history[i - 1]!.meta!.offset!,
    ).length;
    return { lost, doubled: pushes.length - offsets.size, disordered };
  }

  /** A socket that comes back by itself with its offset. @param from the offset that it asks for until it has an event */
  private open(from: () => number | undefined): SocketClient {
    const comesBack = { reconnection: true, reconnectionDelay: 100, reconnectionDelayMax: 500 };
    const auth = (send: (auth: object) => void): void => {
      const offset = client.history.at(-1)?.meta?.offset ?? from();
      send({ token: this.accessTokens.at(-1), ...(offset !== undefined && { offset }) });
    };
    const ca = this.ca !== undefined && { ca: this.ca };
    const client = SocketClient.open(this.url(), auth, { ...comesBack, ...ca });
    const { socket } = client;
    // A stock client does not come back by itself where the service refused it or ended it: the application decides.
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
