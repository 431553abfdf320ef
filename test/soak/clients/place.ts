import { randomInt } from 'node:crypto';
import type { Tokens } from '../../support/sign-in.js';
import { anyAddress } from './address.js';
import { deviceIdOf } from './device-id.js';

/** So long before its end a token is not used any more: it could expire under way. */
const MARGIN_MS = 10_000;
/** After so many requests it is somewhere else, as a phone is: no limit of an address is for people like these. */
const REQUESTS_AN_ADDRESS = 10;
const PEOPLE = 10; // 10.0.0.0/8

export interface Lives {
  /** Seconds. */
  readonly access: number;
  readonly refresh: number;
}

/** A session as its client knows it. */
export interface Session {
  readonly userId: string;
  readonly refreshToken: string;
  /** By `performance.now()`. */
  readonly refreshUntil: number;
  accessToken: string;
  accessUntil: number;
  /** The last offset that its sockets have seen. */
  offset?: number;
}

/** A device of a user, with at most one session that is used. */
export class Place {
  session: Session | undefined;
  /** Requests under way that need its session to live on. */
  busy = 0;
  private asked = 0;
  private where = '';

  constructor(
    readonly user: number,
    readonly device: number,
  ) {}

  /** The stub's code, and so the user. */
  get code(): string {
    return `soak-${this.user}`;
  }

  get deviceId(): string {
    return deviceIdOf(this.user * 100 + this.device);
  }

  /** Where the next request comes from. */
  address(): string {
    if (this.asked++ % REQUESTS_AN_ADDRESS === 0) this.where = anyAddress(PEOPLE);
    return this.where;
  }

  get canRefresh(): boolean {
    return this.session !== undefined && this.session.refreshUntil - performance.now() > MARGIN_MS;
  }

  get canAsk(): boolean {
    return this.session !== undefined && this.session.accessUntil - performance.now() > MARGIN_MS;
  }

  /** After a sign-in. @param sent by `performance.now()`: lives are counted from before it */
  begin({ user_id, refresh_token, access_token }: Tokens, sent: number, lives: Lives): void {
    this.session = {
      userId: user_id,
      refreshToken: refresh_token,
      refreshUntil: sent + lives.refresh * 1000,
      accessToken: access_token,
      accessUntil: sent + lives.access * 1000,
    };
  }

  /** Keeps sign-outs away while something needs the session. */
  async hold<Result>(work: () => Promise<Result>): Promise<Result> {
    this.busy++;
    try {
      return await work();
    } finally {
      this.busy--;
    }
  }
}

const TRIES = 30;

/** One of them at random, for which something holds; undefined where that is hardly ever so. */
export function anyOf<Item>(items: readonly Item[], holds: (item: Item) => boolean): Item | undefined {
  for (let left = TRIES; left > 0; left--) {
    const item = items[randomInt(items.length)]!;
    if (holds(item)) return item;
  }
  return undefined;
}
