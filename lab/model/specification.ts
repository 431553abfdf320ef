import type { ClientKey } from '../../test/support/dpop.js';

/*
 * What the documents say of sessions, small enough to be read beside them: `spec` is docs/specification.md.
 * Times are milliseconds since the epoch. Nothing here knows how the service does it.
 */

const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** spec §2.1 */
const ACCESS_TOKEN_LIFE = 3600 * SECOND;
/** spec §2.2 */
const REFRESH_TOKEN_LIFE = 30 * DAY;
/** STATE_TTL (docs/settings.md#lifetimes) */
const STATE_LIFE = 10 * MINUTE;
/**
 * How long an Idempotency-Key is remembered, and the service's own events are kept
 * (docs/realtime.md#pushing).
 */
export const KEPT = 86_400 * SECOND;
/** From a key's publication to its first use (docs/keys.md#the-life-of-a-key). */
export const KEY_LEAD = 10 * MINUTE;
/** Keys rotate on a schedule (docs/keys.md#the-life-of-a-key). */
const KEY_AGE = 90 * DAY;
/** How far the time of a proof may be off (docs/browser-sessions.md#proofs-without-the-sdk). */
export const PROOF_WINDOW = 60 * SECOND;

/** One (provider, provider_user_id). */
export interface User {
  readonly provider: string;
  readonly name: string;
  readonly id: string;
  readonly createdAt: number;
  readonly devices: Map<string, Device>;
  readonly history: ChannelEvent[];
  /** The number of the newest event. */
  offset: number;
}

/** spec §2.4 */
export interface Device {
  readonly id: string;
  readonly createdAt: number;
  name: string | null;
  userAgent: string | null;
  lastUsed: number;
}

export interface Session {
  readonly user: User;
  readonly id: string;
  readonly deviceId: string | null;
  readonly refreshToken: string;
  readonly begun: number;
  readonly expires: number;
  /** That it is bound to. */
  readonly key: ClientKey | undefined;
  signedOut: boolean;
  /** The last proof that was taken, and where. */
  usedProof?: string;
}

export interface AccessToken {
  readonly session: Session;
  readonly token: string;
  readonly issued: number;
  readonly expires: number;
  readonly kid: string;
}

/** spec §2.3 */
export interface State {
  readonly state: string;
  readonly provider: string;
  /** The redirect URI that authorize named; undefined: the default, which no request of the model names. */
  readonly redirectUri: string | undefined;
  readonly verifier: string | undefined;
  readonly expires: number;
  used: boolean;
}

/** Event of a history (docs/realtime.md#offsets-nothing-missed-nothing-twice). */
export interface ChannelEvent {
  readonly event: string;
  readonly offset: number;
  readonly data: unknown;
  /** Null: for all of the user's devices. */
  readonly deviceId: string | null;
  readonly sent: number;
  readonly expires: number;
}

/** A signing key. */
export interface Key {
  readonly kid: string;
  readonly firstUse: number;
  revoked: boolean;
}

/** A push with an Idempotency-Key. */
export interface Push {
  readonly body: string;
  readonly answer: unknown;
  readonly expires: number;
}

export class Specification {
  readonly users: User[] = [];
  readonly sessions: Session[] = [];
  readonly tokens: AccessToken[] = [];
  readonly states: State[] = [];
  readonly pushes = new Map<string, Push>();

  constructor(
    public now: number,
    readonly keys: Key[],
  ) {}

  /** "Must match the state of the authorization request. Can be used only once" (spec §2.3). */
  isFresh(state: State): boolean {
    return !state.used && this.now < state.expires;
  }

  begin(state: Omit<State, 'expires' | 'used'>): void {
    this.states.push({ ...state, expires: this.now + STATE_LIFE, used: false });
  }

  /** A refresh token "ends only by expiry" (spec §2.2), which signing out brings about. */
  lives(session: Session): boolean {
    return !session.signedOut && this.now < session.expires;
  }

  /** Until its expiry, its session's sign-out, or the withdrawal of its key. */
  isGood({ session, expires, kid }: AccessToken): boolean {
    return this.now < expires && !session.signedOut && !this.keyOf(kid).revoked;
  }

  keyOf(kid: string): Key {
    const key = this.keys.find((one) => one.kid === kid);
    if (!key) throw new Error(`the model does not know the key ${kid}`);
    return key;
  }

  /** The newest key that is in use. */
  get signing(): Key {
    const able = this.keys.filter(({ firstUse, revoked }) => !revoked && firstUse <= this.now);
    return able.reduce((one, other) => (other.firstUse > one.firstUse ? other : one));
  }

  /** The key that is published and not yet in use. */
  get waiting(): Key | undefined {
    return this.keys.find(({ firstUse, revoked }) => !revoked && firstUse > this.now);
  }

  /** Keys rotate after 90 days. */
  get isRotationDue(): boolean {
    return !this.waiting && this.now - this.signing.firstUse >= KEY_AGE;
  }

  userNamed(provider: string, name: string): User | undefined {
    return this.users.find((user) => user.provider === provider && user.name === name);
  }

  signedIn(
    who: Pick<User, 'provider' | 'name' | 'id'>,
    device: Pick<Device, 'id' | 'name' | 'userAgent'> | undefined,
    session: Pick<Session, 'id' | 'refreshToken' | 'key' | 'usedProof'>,
  ): Session {
    const user = this.userNamed(who.provider, who.name) ?? this.welcome(who);
    if (device) {
      const known = user.devices.get(device.id) ?? { ...device, createdAt: this.now, lastUsed: this.now };
      known.name = device.name ?? known.name;
      known.userAgent = device.userAgent ?? known.userAgent;
      known.lastUsed = this.now;
      user.devices.set(device.id, known);
      this.append(user, 'device.signed_in', factsOf(known));
    }
    const deviceId = device?.id ?? null;
    const begun = { user, deviceId, begun: this.now, expires: this.now + REFRESH_TOKEN_LIFE };
    this.sessions.push({ ...session, ...begun, signedOut: false });
    return this.sessions.at(-1)!;
  }

  private welcome(who: Pick<User, 'provider' | 'name' | 'id'>): User {
    const user = { ...who, createdAt: this.now, devices: new Map(), history: [], offset: 0 };
    this.users.push(user);
    return user;
  }

  /** The access token's hour (spec §2.1); `iat` and `exp` are whole seconds (RFC 7519 §2). */
  issued(session: Session, token: string, kid: string): void {
    const issued = Math.floor(this.now / SECOND) * SECOND;
    this.tokens.push({ session, token, kid, issued, expires: issued + ACCESS_TOKEN_LIFE });
    this.used(session);
  }

  used({ user, deviceId }: Session): void {
    const device = deviceId === null ? undefined : user.devices.get(deviceId);
    if (device) device.lastUsed = this.now;
  }

  isSignedIn(user: User, deviceId: string): boolean {
    return this.sessions.some((one) => one.user === user && one.deviceId === deviceId && this.lives(one));
  }

  /** What `current`, `others`, `all` mean. */
  inScope(caller: Session, scope: 'current' | 'others' | 'all'): Session[] {
    const isCurrent = (one: Session): boolean =>
      caller.deviceId === null ? one === caller : one.deviceId === caller.deviceId;
    const ofUser = this.sessions.filter(({ user }) => user === caller.user);
    if (scope === 'all') return ofUser;
    return ofUser.filter((one) => isCurrent(one) === (scope === 'current'));
  }

  /** @returns how many of them ended now: an expired one, too, while an access token of it is valid */
  end(sessions: readonly Session[]): number {
    const ended = sessions.filter((one) => !one.signedOut && !this.isForgotten(one));
    for (const one of ended) one.signedOut = true;
    const [first] = ended;
    const deviceIds = new Set(ended.flatMap(({ deviceId }) => deviceId ?? []));
    for (const id of [...deviceIds].toSorted()) {
      if (!this.isSignedIn(first!.user, id))
        this.append(first!.user, 'device.signed_out', factsOf(first!.user.devices.get(id)!));
    }
    return ended.length;
  }

  private isForgotten(session: Session): boolean {
    const tokens = this.tokens.filter((one) => one.session === session);
    return session.expires + 5 * SECOND < this.now && tokens.every(({ expires }) => expires < this.now);
  }

  /** Sessions end; then user, devices and history are gone (docs/support.md#suspend-or-remove-a-user). */
  remove(user: User): void {
    for (const one of this.sessions) if (one.user === user) one.signedOut = true;
    this.users.splice(this.users.indexOf(user), 1);
  }

  append(
    user: User,
    event: string,
    data: unknown,
    deviceId: string | null = null,
    life = KEPT,
  ): ChannelEvent {
    const place = { offset: ++user.offset, sent: this.now, expires: this.now + life };
    user.history.push({ event, data, deviceId, ...place });
    return user.history.at(-1)!;
  }

  missed(
    user: User,
    deviceId: string | null,
    offset: number | undefined,
  ): { readonly events: ChannelEvent[]; readonly recovered: boolean } {
    if (offset === undefined) return { events: [], recovered: true };
    if (offset > user.offset) return { events: [], recovered: false };
    const kept = user.history.filter((event) => event.offset > offset && this.now < event.expires);
    const events = kept.filter((event) => event.deviceId === null || event.deviceId === deviceId);
    return { events, recovered: kept.length === user.offset - offset };
  }

  /** Every moment to come at which something ends, or begins. */
  get moments(): number[] {
    const times = [
      ...this.states.map(({ expires }) => expires),
      ...this.tokens.map(({ expires }) => expires),
      ...this.sessions.map(({ expires }) => expires),
      ...this.users.flatMap(({ history }) => history.map(({ expires }) => expires)),
      ...[...this.pushes.values()].map(({ expires }) => expires),
      ...this.keys.map(({ firstUse }) => firstUse),
      this.signing.firstUse + KEY_AGE,
    ];
    return [...new Set(times.filter((time) => time > this.now))].toSorted((a, b) => a - b);
  }
}

export function factsOf({ id, name, userAgent, createdAt }: Device): Record<string, unknown> {
  return { device_id: id, device_name: name, user_agent: userAgent, created_at: isoOf(createdAt) };
}

/** RFC 3339, in UTC, with milliseconds. */
export function isoOf(time: number): string {
  return new Date(time).toISOString();
}
