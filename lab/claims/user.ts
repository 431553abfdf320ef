import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../../test/support/random.js';
import { claimsOf, signIn, type Tokens } from '../../test/support/sign-in.js';
import type { Asked, Calls } from '../histories/calls.js';
import { claimsOf as named } from '../histories/ledger.js';
import { Listener } from '../histories/listener.js';
import type { ClaimsCall } from '../histories/operation.js';
import type { Recorder } from '../histories/recorder.js';
import type { World } from '../world/world.js';
import { claimsWith, flat, PLACES, type Place } from './rules.js';

const DEVICE = '00000000-0000-4000-8000-000000000001';
/** Looks for a change for so long. */
const LONGEST_MS = 5000;
/** Share of changes that two concurrent calls make, on any instances. */
const CONCURRENT = 0.2;

/** What all users of a run share. `calls` are to the instances, and then to the APIs; `next` numbers changes. */
type Shared = Readonly<{ world: World; calls: Calls; recorder: Recorder; next: () => number; seed: number }>;

/** A user whose claims change, with tokens and an open socket. */
export class User {
  readonly listener: Listener;
  private newest: string;

  private constructor(
    private readonly shared: Shared,
    private readonly name: string,
    private readonly tokens: Tokens,
    private readonly random: Random,
  ) {
    this.newest = tokens.access_token;
    const token = () => Promise.resolve({ name: named(this.newest).name, text: this.newest });
    const owner = { device: DEVICE, user: tokens.user_id, token, refused: () => undefined };
    this.listener = new Listener(`${name} socket`, owner, shared.world.urls, shared.recorder, random);
  }

  static async signIn(shared: Shared, number: number): Promise<User> {
    const name = `user ${number}`;
    const tokens = await signIn(shared.world.urls[0]!, name, { device_id: DEVICE });
    return new User(shared, name, tokens, new Random(shared.seed, number));
  }

  /** Changes claims, and looks for each change at all places at once. */
  async change(isOver: () => boolean, pauseMs: number): Promise<void> {
    while (!isOver()) {
      await delay(pauseMs * 2 * this.random.next());
      const count = this.random.chance(CONCURRENT) ? 2 : 1;
      const puts = await Promise.all(Array.from({ length: count }, () => this.put()));
      const done: unknown[] = puts.filter((n) => n !== undefined);
      const end = performance.now() + (done.length > 0 ? LONGEST_MS : 0);
      const lookFor = async (at: Place): Promise<void> => {
        while (performance.now() < end && !done.includes((await this.see(at))?.['n'])) await delay(5);
      };
      await Promise.all(PLACES.map(lookFor));
    }
  }

  /** Looks at places in any order: the load. */
  async look(isOver: () => boolean, pauseMs: number): Promise<void> {
    while (!isOver()) {
      await this.see(this.random.pick(PLACES));
      await delay(pauseMs * 2 * this.random.next());
    }
  }

  /** @returns the number of an acknowledged change */
  private async put(): Promise<number | undefined> {
    const { calls, recorder, next, world } = this.shared;
    const n = next();
    const [user, claims] = [this.tokens.user_id, claimsWith(n)];
    const asked = { method: 'PUT', bearer: world.serviceKey, body: { claims } } as const;
    const { body: _body, ...call } = await calls.ask(this.instance(), `/users/${user}/claims`, asked);
    recorder.record({ kind: 'claims', client: `${this.name} PUT`, ...call, at: 'PUT', user, claims });
    return call.outcome === 'ok' ? n : undefined;
  }

  private async see(at: Place): Promise<ClaimsCall['claims']> {
    const { calls, world, recorder } = this.shared;
    // The first token is older than all changes, so the feed decides about its claims.
    const token = this.random.chance(0.5) ? this.newest : this.tokens.access_token;
    const { user_id: user, refresh_token } = this.tokens;
    const post = { method: 'POST', bearer: world.serviceKey } as const;
    const asked: Record<Place, [instance: number, path: string, asked: Asked]> = {
      'API 1': [world.urls.length, '/', { bearer: token }],
      'API 2': [world.urls.length + 1, '/', { bearer: token }],
      '/me': [this.instance(), '/me', { bearer: token }],
      introspection: [this.instance(), '/oauth2/introspect', { ...post, body: { token } }],
      refresh: [this.instance(), '/oauth2/refresh', { method: 'POST', body: { refresh_token } }],
    };
    const { body, ...call } = await calls.ask(...asked[at]);
    const { access_token = this.newest } = body as { access_token?: string };
    this.newest = access_token;
    const carried = at === 'refresh' ? claimsOf(access_token) : body;
    const seen = call.outcome === 'ok' ? { claims: flat(carried) } : {};
    recorder.record({ kind: 'claims', client: `${this.name} ${at}`, ...call, at, user, ...seen });
    return seen.claims;
  }

  private instance(): number {
    return this.random.below(this.shared.world.urls.length);
  }
}
