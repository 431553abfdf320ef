import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type Pair, type Shared } from './client.js';
import type { HeldSession } from './ledger.js';
import type { Push } from './operation.js';
import { Party } from './party.js';
import { Random } from '../../test/support/random.js';

/** Merges of one couple, each after a new proof: the answer of one may be lost. */
const TRIES = 6;
const AGAIN_MS = 200;
/** Between two uses of everything while a merge is on its way. */
const STORM_MS = 30;
/** How long a socket is waited for before there is something to hear. */
const HEARD_WITHIN_MS = 1000;
/** Between two couples, as a multiple of the pause between two things that a person does. */
const PAUSES = 20;
/** Share of couples in which the former user has a socket. */
const LISTENING = 0.5;

/** Two accounts of one person, each with a user: that of the second one becomes part of the other. */
interface Couple {
  readonly name: string;
  readonly pair: Pair;
  /** Of the former user. */
  readonly sessions: HeldSession[];
  readonly own: HeldSession;
}

/** Makes one couple after the other, and merges each while both are in use. */
export class Couples {
  /** With sockets, until the end of the history. */
  readonly parties: Party[] = [];
  private readonly random: Random;
  private readonly listening: Promise<void>[] = [];

  constructor(
    private readonly shared: Shared,
    private readonly options: {
      readonly name: string;
      readonly urls: readonly string[];
      readonly seed: number;
    },
  ) {
    this.random = new Random(options.seed);
  }

  async run(ended: () => boolean, pauseMs: number): Promise<void> {
    for (let i = 0; !ended(); i++) {
      const couple = await this.meet(`${this.options.name}-${i}`, ended);
      if (couple) await this.unite(couple);
      await delay(pauseMs * PAUSES * 2 * this.random.next());
    }
  }

  /** Closes the sockets. */
  async stop(): Promise<void> {
    for (const { listener } of this.parties) listener.stop();
    await Promise.all(this.listening);
  }

  /** @returns undefined: one of them has got no session until the end */
  private async meet(name: string, ended: () => boolean): Promise<Couple | undefined> {
    const account = `${name}-second-${this.options.seed}`;
    const device = this.random.chance(0.7) ? randomUUID() : null;
    const [first, ownDevice] = [`${name}-first-${this.options.seed}`, randomUUID()];
    let former: HeldSession | undefined;
    let own: HeldSession | undefined;
    while (!former && !ended()) former = await this.signIn(name, 'hub', account, device);
    while (!own && !ended()) own = await this.signIn(name, 'stub', first, ownDevice);
    if (!former || !own) return undefined;
    const another = this.random.chance(0.5) ? await this.signIn(name, 'hub', account, null) : undefined;
    const sessions = another ? [former, another] : [former];
    await this.listen(`${name} own`, own);
    if (this.random.chance(LISTENING)) await this.listen(`${name} former`, former);
    return { name, pair: { account, former: former.user, into: own.user }, sessions, own };
  }

  private async unite(couple: Couple): Promise<void> {
    const { name, pair, sessions, own } = couple;
    const { account, former, into } = pair;
    const client = new Client(this.shared, name);
    await this.push(client, former);
    await this.push(client, into);
    for (let left = TRIES, isDone = false; left > 0 && !isDone; left--) {
      const proof = await client.prove(this.instance(), own, pair, this.newCode(account));
      if (typeof proof === 'object') isDone = await this.mergeInUse(couple, proof.mergeToken);
      else if (proof === 'refused') await client.refresh(this.instance(), own);
      else isDone = proof === 'ok';
      if (!isDone) await delay(AGAIN_MS);
    }
    const again = await this.signIn(name, 'hub', account, sessions[0]!.device);
    for (const session of sessions) {
      await client.use(this.instance(), session.token);
      await client.introspect(this.instance(), session.token);
      await client.verify(this.random.below(this.shared.verifiers.length), session.token);
      await client.refresh(this.instance(), session);
    }
    if (again) await client.use(this.instance(), again.token);
    await this.push(client, former, this.random.chance(0.3) ? 0 : undefined);
    await this.push(client, into, undefined, again?.user === into ? again.device : null);
  }

  /** Merges, while all sessions and both ids are used. @returns whether it is done */
  private async mergeInUse({ name, pair, sessions, own }: Couple, mergeToken: string): Promise<boolean> {
    const { account, former, into } = pair;
    const client = (what: string): Client => new Client(this.shared, `${name} ${what}`);
    const [reader, refresher, pusher] = [client('reader'), client('refresher'), client('pusher')];
    const storm = { isOver: false };
    const merging = client('merge')
      .merge(this.instance(), own, pair, mergeToken)
      .finally(() => (storm.isOver = true));
    const whileMerging = async (work: (session: HeldSession) => Promise<unknown>): Promise<void> => {
      do {
        for (const session of sessions) await work(session);
        await delay(STORM_MS);
      } while (!storm.isOver);
    };
    const [outcome] = await Promise.all([
      merging,
      this.signIn(`${name} other`, 'hub', account, sessions[0]!.device),
      whileMerging((session) => refresher.refresh(this.instance(), session)),
      whileMerging(async ({ token }) => {
        await reader.use(this.instance(), token);
        await reader.introspect(this.instance(), token);
        await reader.verify(this.random.below(this.shared.verifiers.length), token);
      }),
      whileMerging(async () => {
        await this.push(pusher, former);
        await this.push(pusher, into);
      }),
    ]);
    return outcome === 'ok';
  }

  private async signIn(
    name: string,
    provider: string,
    account: string,
    device: string | null,
  ): Promise<HeldSession | undefined> {
    const client = new Client(this.shared, name);
    const state = await client.authorize(this.instance(), provider);
    if (state === undefined) {
      await delay(AGAIN_MS);
      return undefined;
    }
    const session = await client.signIn(this.instance(), state, this.newCode(account), device);
    return typeof session === 'object' ? session : undefined;
  }

  private push(client: Client, user: string, ttl?: number, device: Push['device'] = null): Promise<string> {
    const n = String(this.shared.ledger.number());
    return client.push(this.instance(), { user, device, n, ...(ttl !== undefined && { ttl }) });
  }

  /** Resolves when it hears, or a little later. */
  private async listen(name: string, session: HeldSession): Promise<void> {
    const seed = this.options.seed + 10 * this.parties.length;
    const party = new Party(this.shared, name, session, this.options.urls, seed);
    this.parties.push(party);
    this.listening.push(party.listener.run());
    const end = performance.now() + HEARD_WITHIN_MS;
    while (!party.listener.position && performance.now() < end) await delay(20);
  }

  private newCode(account: string): string {
    return `${account}.${this.shared.ledger.number()}`;
  }

  private instance(): number {
    return this.random.below(this.shared.calls.instances);
  }
}
