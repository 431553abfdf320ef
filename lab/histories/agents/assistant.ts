import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../../../test/support/random.js';
import { Client, type Shared } from '../client.js';
import type { HeldSession } from '../ledger.js';
import type { Outcome } from '../operation.js';
import { PROGRAM_DEVICE } from './program.js';
import { ProgramClient } from './program-client.js';

const MOST_REMEMBERED = 10;
const AGAIN_MS = 200;

/** What it does next, and how often. */
const MIX = { refresh: 30, read: 30, readFormer: 20, trespass: 6, allow: 4, allowTwice: 2, end: 6 };
const ENDS = { removal: 3, signOutAll: 1, operator: 2, revoke: 1 };

/** A program that a user has allowed, and that user: ends it, and allows it again. */
export class Assistant {
  private readonly random: Random;
  private readonly program: ProgramClient;
  private readonly client: Client;
  /** Two after concurrent consents, until one of them is refused. */
  private sessions: HeldSession[] = [];
  private readonly former: HeldSession[] = [];
  /** The user's own. */
  private own: HeldSession | undefined;

  constructor(
    private readonly shared: Shared,
    private readonly options: {
      readonly name: string;
      readonly account: string;
      readonly user: string;
      readonly urls: readonly string[];
      readonly seed: number;
      /** Of all assistants. */
      readonly users: readonly string[];
    },
  ) {
    this.random = new Random(options.seed);
    this.program = new ProgramClient(shared, options.name, options.urls);
    this.client = new Client(shared, options.name);
  }

  async run(ended: () => boolean, pauseMs: number): Promise<void> {
    while (!ended()) {
      await this.act();
      await delay(pauseMs * 2 * this.random.next());
    }
  }

  private async act(): Promise<void> {
    const session = this.random.oneOf(this.sessions);
    if (!session) return this.allow();
    switch (this.random.weighted(MIX)) {
      case 'refresh':
        return this.refresh(session);
      case 'read':
        return this.read(session);
      case 'readFormer':
        return this.readFormer();
      case 'trespass':
        return this.program.trespass(this.instance(), session);
      case 'allow':
        return this.allow();
      case 'allowTwice':
        return this.allow(['', ' rival']);
      case 'end':
        if ((await this.end(session)) !== 'ok') return;
        this.drop();
        return this.readFormer();
    }
  }

  /** @param clients that get a consent each, and redeem their codes at once */
  private async allow(clients: readonly string[] = ['']): Promise<void> {
    const { name, urls, user } = this.options;
    const programs = clients.map((one) => new ProgramClient(this.shared, name + one, urls));
    const granted = await Promise.all(programs.map((one) => one.ask(this.instance(), this.newCode())));
    const redeemed = await Promise.all(
      programs.map(async (one, i) => {
        const code = granted[i];
        if (!code) return 'refused';
        const session = await one.redeem(this.instance(), user, code);
        return session === 'unknown' ? one.redeem(this.instance(), user, code) : session;
      }),
    );
    const allowed = redeemed.filter((one) => typeof one === 'object');
    if (allowed.length === 0) return delay(AGAIN_MS);
    this.drop();
    this.sessions.push(...allowed);
    await this.readFormer();
  }

  private async refresh(session: HeldSession): Promise<void> {
    if ((await this.client.refresh(this.instance(), session)) === 'refused') this.drop(session);
  }

  private async read({ first, token }: HeldSession): Promise<void> {
    const shown = this.random.chance(0.3) ? first : token;
    if (this.random.chance(0.5)) await this.client.introspect(this.instance(), shown);
    else await this.client.verify(this.random.below(this.shared.verifiers.length), shown);
  }

  /** Half the time the last one: readers may not know yet that it has ended. */
  private async readFormer(): Promise<void> {
    const session = this.random.chance(0.5) ? this.former.at(-1) : this.random.oneOf(this.former);
    if (!session) return;
    await this.read(session);
    if (this.random.chance(0.5)) await this.client.refresh(this.instance(), session);
  }

  private async end(session: HeldSession): Promise<Outcome> {
    const how = this.random.weighted(ENDS);
    if (how === 'revoke') {
      const outcome = await this.client.revoke(this.instance(), session);
      return this.sessions.length === 1 ? outcome : 'unknown';
    }
    if (how === 'operator') return this.program.endForAll(this.instance(), this.options.users);
    const own = await this.signedIn();
    if (!own) return 'unknown';
    if (how === 'removal') return this.client.removeDevice(this.instance(), own, PROGRAM_DEVICE);
    return this.client.signOut(this.instance(), own, 'all');
  }

  /** The user's own session, with a token that has not expired. */
  private async signedIn(): Promise<HeldSession | undefined> {
    if (this.own && (await this.client.refresh(this.instance(), this.own)) === 'ok') return this.own;
    const state = await this.client.authorize(this.instance());
    const session = state && (await this.client.signIn(this.instance(), state, this.newCode(), null));
    return (this.own = typeof session === 'object' ? session : undefined);
  }

  private drop(...ended: HeldSession[]): void {
    const gone = ended.length > 0 ? ended : this.sessions;
    this.former.push(...gone);
    this.former.splice(0, this.former.length - MOST_REMEMBERED);
    this.sessions = this.sessions.filter((one) => !gone.includes(one));
  }

  private newCode(): string {
    return `${this.options.account}.${this.shared.ledger.number()}`;
  }

  private instance(): number {
    return this.random.below(this.shared.calls.instances);
  }
}
