import { setTimeout as delay } from 'node:timers/promises';
import { Client, type Shared } from './client.js';
import type { HeldSession, HeldToken } from './ledger.js';
import { UNWRITTEN_MS } from './ends.js';
import { drawIdleFor, type Limits } from './limits.js';
import { Listener, type Owner } from './listener.js';
import type { TokenName } from './operation.js';
import { Random } from '../../test/support/random.js';

const MOST_SESSIONS = 5;
const MOST_REMEMBERED = 20;
const TRIES = 5;
/** Share of readings with the first token of a session. */
const OLD_TOKEN = 0.4;
const AGAIN_MS = 200;

/** What it does next, and how often. */
const MIX = {
  signIn: 8,
  signInTwice: 2,
  refresh: 20,
  read: 40,
  readEnded: 14,
  setClaims: 4,
  push: 30,
  pushUnkept: 4,
  pushOnce: 4,
  rename: 2,
  move: 3,
  signOut: 1.5,
  signOutOthers: 0.7,
  signOutAll: 0.7,
  revoke: 1.5,
  signOutUser: 0.6,
  removeDevice: 0.6,
  signInAtOnce: 0,
  leave: 0,
};
/** With a limit of sessions a sign-in ends another session. */
const MIX_WITH_LIMITS: typeof MIX = {
  ...MIX,
  signIn: 2,
  signInTwice: 1,
  refresh: 40,
  signInAtOnce: 1.5,
  leave: 3,
};
/** Sign-ins at one time: more than the limit. */
const AT_ONCE = 5;
/** Milliseconds in which a client leaves a session, after the report that its idle end is a second away. */
const LEFT_MS = UNWRITTEN_MS + 2000;

export interface PersonOptions extends Shared {
  readonly name: string;
  readonly account: string;
  /** Null: it names no device. */
  readonly device: string | null;
  readonly urls: readonly string[];
  readonly seed: number;
  readonly limits: Limits | undefined;
}

export class Person implements Owner {
  readonly listener: Listener;
  private readonly client: Client;
  private readonly random: Random;
  private readonly sessions: HeldSession[] = [];
  /** Of sessions that have ended. */
  private readonly endedTokens: HeldToken[] = [];
  user = '';
  /** Tokens that were refused to the listener. */
  private readonly stale = new Set<string>();
  /** For the listener: what it does is another client's, and does not change what this one draws next. */
  private readonly listenerClient: Client;
  private readonly listenerRandom: Random;
  private readonly idleRandom: Random;
  private readonly left: Promise<void>[] = [];

  constructor(private readonly options: PersonOptions) {
    const { name, urls, recorder, seed } = options;
    this.random = new Random(seed);
    this.client = new Client(options, name);
    this.listenerClient = new Client(options, `${name} listener`);
    this.listenerRandom = new Random(seed + 2);
    this.idleRandom = new Random(seed + 3);
    this.listener = new Listener(`${name} listener`, this, urls, recorder, new Random(seed + 1));
  }

  get account(): string {
    return this.options.account;
  }

  get device(): string | null {
    return this.options.device;
  }

  /** Signs in for the first time. */
  async begin(): Promise<void> {
    while (this.sessions.length === 0) await this.signIn();
    this.user = this.sessions[0]!.user;
  }

  /** @param pauseMs between two things, on average */
  async run(ended: () => boolean, pauseMs: number): Promise<void> {
    while (!ended()) {
      await this.act();
      await delay(pauseMs * 2 * this.random.next());
    }
  }

  /** Leaves it with a session that lives, so that its listener can get all that there is. */
  async settle(): Promise<void> {
    await Promise.all(this.left);
    for (let alive = false; !alive;) {
      for (const session of this.sessions.slice()) await this.refresh(session, 0);
      alive = this.sessions.length > 0;
      if (!alive) await this.signIn();
    }
  }

  private async act(): Promise<void> {
    const session = this.random.oneOf(this.sessions);
    if (!session) return this.signIn();
    const { client } = this;
    const at = this.instance();
    const isHere = ({ id, device }: HeldSession): boolean =>
      session.device === null ? id === session.id : device === session.device;
    switch (this.random.weighted(this.options.limits ? MIX_WITH_LIMITS : MIX)) {
      case 'signIn':
        return this.sessions.length < MOST_SESSIONS ? this.signIn() : this.refresh(session);
      case 'signInTwice':
        return this.signIn([client, new Client(this.options, `${client.name} rival`)]);
      case 'signInAtOnce': {
        const others = Array.from({ length: AT_ONCE }, (_, i) => `${client.name} other ${i}`);
        await this.refreshAll(); // which of them lived before is known, and which lives after
        await Promise.all(others.map((name) => this.signIn([new Client(this.options, name)])));
        return this.refreshAll();
      }
      case 'leave':
        return void this.left.push(this.leave(session));
      case 'refresh':
        return this.refresh(session);
      case 'read':
        if ((await this.read(this.tokenOf(session))) === 'refused') await this.refresh(session);
        return;
      case 'readEnded':
        return this.readEnded();
      case 'setClaims':
        return client.setClaims(at, this.user);
      case 'push':
        return void (await client.push(at, this.newPush()));
      case 'pushUnkept':
        return void (await client.push(at, { ...this.newPush(), ttl: 0 }));
      case 'pushOnce':
        return this.pushOnce();
      case 'rename':
        if (session.device !== null) await client.rename(at, session, session.device);
        return;
      case 'move':
        return this.listener.move();
      case 'signOut':
        return this.after(await client.signOut(at, session, 'current'), isHere);
      case 'signOutOthers':
        return this.after(await client.signOut(at, session, 'others'), (one) => !isHere(one));
      case 'signOutAll':
        return this.after(await client.signOut(at, session, 'all'), () => true);
      case 'revoke':
        return this.after(await client.revoke(at, session), ({ id }) => id === session.id);
      case 'signOutUser': {
        const device = this.random.chance(0.5) ? this.someDevice(this.user) : null;
        return this.after(
          await client.signOutUser(at, this.user, device),
          (one) => device === null || one.device === device,
        );
      }
      case 'removeDevice': {
        const device = this.someDevice(this.user);
        if (device === null) return;
        return this.after(await client.removeDevice(at, session, device), (one) => one.device === device);
      }
    }
  }

  /** @param clients that exchange the code at the same time; after no answer the first one tries again */
  private async signIn(clients: readonly Client[] = [this.client]): Promise<void> {
    const [first] = clients as [Client];
    const state = await first.authorize(this.instance());
    if (state === undefined) return delay(AGAIN_MS);
    const { account, device, ledger } = this.options;
    const code = `${account}.${ledger.number()}`;
    const exchange = (client: Client) => client.signIn(this.instance(), state, code, device);
    const sessions = await Promise.all(clients.map(exchange));
    if (!sessions.some((one) => one !== 'unknown')) sessions.push(await exchange(first));
    for (const session of sessions) {
      if (typeof session !== 'object') continue;
      this.sessions.push(session);
      ledger.addDevice(session);
    }
  }

  private async refresh(session: HeldSession, idleFor = this.drawIdleFor()): Promise<void> {
    const before = session.token;
    const outcome = await this.client.refresh(this.instance(), session, idleFor);
    if (outcome === 'refused') this.drop([session]);
    // The one before stays good as well.
    if (outcome === 'ok' && this.random.chance(0.1)) await this.read(before);
  }

  private async refreshAll(): Promise<void> {
    await Promise.all(this.sessions.slice().map((session) => this.refresh(session, 0)));
  }

  /** Leaves a session until after its idle end; then it comes back to it, or revokes it and looks whether a token is accepted. */
  private async leave(session: HeldSession): Promise<void> {
    const { client, options, idleRandom } = this;
    const instance = (): number => idleRandom.below(options.calls.instances);
    this.drop([session]);
    await client.refresh(instance(), session, 0);
    const { token } = session;
    if ((await client.refresh(instance(), session, options.limits!.idleTtl - 1)) !== 'ok') return;
    await delay(LEFT_MS);
    if (idleRandom.chance(0.5)) return void (await client.refresh(instance(), session));
    if ((await client.revoke(instance(), session)) !== 'ok') return;
    await client.use(instance(), token);
    await client.introspect(instance(), token);
  }

  private drawIdleFor(): number | undefined {
    const { limits } = this.options;
    return limits && drawIdleFor(limits, this.idleRandom);
  }

  private tokenOf({ first, token }: HeldSession): HeldToken {
    return this.random.chance(OLD_TOKEN) ? first : token;
  }

  /** Shows a token to one of the three readers. */
  private read(token: HeldToken): Promise<string> {
    const reader = this.random.pick(['use', 'introspect', 'verify'] as const);
    const places = reader === 'verify' ? this.options.verifiers.length : this.options.calls.instances;
    return this.client[reader](this.random.below(places), token);
  }

  /** Half the time the token of the session that has ended last, which a reader may not know yet. */
  private async readEnded(): Promise<void> {
    const newest = this.endedTokens.at(-1);
    const token = this.random.chance(0.5) ? newest : this.random.oneOf(this.endedTokens);
    if (token) await this.read(token);
  }

  private async pushOnce(): Promise<void> {
    const push = this.newPush();
    for (let tries = TRIES; tries > 0; tries--) {
      if ((await this.client.push(this.instance(), { ...push, key: push.n })) !== 'unknown') return;
      await delay(AGAIN_MS);
    }
  }

  private newPush(): { user: string; device: string | null; n: string } {
    const { ledger } = this.options;
    const user = this.random.oneOf([...ledger.devices.keys()])!;
    const device = this.random.chance(0.2) ? this.someDevice(user) : null;
    return { user, device, n: String(ledger.number()) };
  }

  private someDevice(user: string): string | null {
    return this.random.oneOf([...(this.options.ledger.devices.get(user) ?? [])]) ?? null;
  }

  /** Sessions that an acknowledged sign-out has ended are used no more, but in `readEnded`. */
  private after(outcome: string, isEnded: (session: HeldSession) => boolean): void {
    if (outcome === 'ok') this.drop(this.sessions.filter(isEnded));
  }

  private drop(ended: readonly HeldSession[]): void {
    for (const session of ended) {
      const place = this.sessions.indexOf(session);
      if (place >= 0) this.sessions.splice(place, 1);
      this.endedTokens.push(session.token);
    }
    this.endedTokens.splice(0, this.endedTokens.length - MOST_REMEMBERED);
  }

  refused({ jti }: TokenName): void {
    this.stale.add(jti);
    if (this.stale.size > MOST_REMEMBERED) this.stale.delete(this.stale.values().next().value!);
  }

  /** Like an application: a token that was refused is refreshed first, and a session that has ended is given up. */
  async token(): Promise<HeldToken | undefined> {
    const session = this.listenerRandom.oneOf(this.sessions);
    if (!session) return undefined;
    if (this.stale.has(session.token.name.jti)) {
      const instance = this.listenerRandom.below(this.options.calls.instances);
      const outcome = await this.listenerClient.refresh(instance, session);
      if (outcome === 'refused') this.drop([session]);
      if (outcome !== 'ok') return undefined;
    }
    return session.token;
  }

  private instance(): number {
    return this.random.below(this.options.calls.instances);
  }
}
