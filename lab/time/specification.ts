const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Access token (spec §2.1), refresh token (spec §2.2). */
const [TOKEN_LIFE, SESSION_LIFE] = [60 * MINUTE, 30 * DAY];
/** Settings `STATE_TTL`; docs/realtime.md#pushing: how long an Idempotency-Key is known. */
const [STATE_LIFE, IDEMPOTENCY_KEY_LIFE] = [10 * MINUTE, DAY];
/** docs/keys.md: days of use of a signing key, and the time from its publication to its first use. */
const [KEY_AGE, KEY_LEAD] = [90 * DAY, 10 * MINUTE];

interface Key {
  readonly kid: string;
  readonly firstUse: number;
}

interface Ends {
  readonly expires: number;
}
type State = Ends & { readonly state: string; used: boolean };
type Session = Ends & { readonly refreshToken: string; readonly user: string; signedOut: boolean };
type Token = Ends & { readonly session: Session; readonly text: string; readonly kid: string };
type Push = Ends & { readonly id: string };

/** What the documents say of all that ends by time. Times are milliseconds since the epoch. */
export class Specification {
  readonly states: State[] = [];
  readonly sessions: Session[] = [];
  readonly tokens: Token[] = [];
  readonly pushes = new Map<string, Push>();

  constructor(
    public now: number,
    readonly keys: Key[],
  ) {}

  isFresh({ used, expires }: State): boolean {
    return !used && this.now < expires;
  }

  lives({ signedOut, expires }: Session): boolean {
    return !signedOut && this.now < expires;
  }

  isGood({ session, expires }: Token): boolean {
    return !session.signedOut && this.now < expires;
  }

  /** The newest key in use. */
  get signing(): Key {
    const able = this.keys.filter(({ firstUse }) => firstUse <= this.now);
    return able.reduce((one, other) => (other.firstUse > one.firstUse ? other : one));
  }

  /** The key that is published and not yet in use. */
  get waiting(): Key | undefined {
    return this.keys.find(({ firstUse }) => firstUse > this.now);
  }

  get isRotationDue(): boolean {
    return !this.waiting && this.now - this.signing.firstUse >= KEY_AGE;
  }

  began(state: string): void {
    this.states.push({ state, expires: this.now + STATE_LIFE, used: false });
  }

  signedIn(refreshToken: string, user: string): Session {
    this.sessions.push({ refreshToken, user, expires: this.now + SESSION_LIFE, signedOut: false });
    return this.sessions.at(-1)!;
  }

  /** `iat` and `exp` are whole seconds (RFC 7519 §2). */
  issued(session: Session, text: string): Token {
    const expires = Math.floor(this.now / 1000) * 1000 + TOKEN_LIFE;
    this.tokens.push({ session, text, kid: this.signing.kid, expires });
    return this.tokens.at(-1)!;
  }

  pushed(key: string, id: string): void {
    this.pushes.set(key, { id, expires: this.now + IDEMPOTENCY_KEY_LIFE });
  }

  made(kid: string): void {
    this.keys.push({ kid, firstUse: this.now + KEY_LEAD });
  }

  /** All moments to come at which something ends or begins, the next one first. */
  get moments(): number[] {
    const ends = [...this.states, ...this.tokens, ...this.sessions, ...this.pushes.values()];
    const times = [...ends.map(({ expires }) => expires), ...this.keys.map(({ firstUse }) => firstUse)];
    return [...times, this.signing.firstUse + KEY_AGE]
      .filter((time) => time > this.now)
      .toSorted((a, b) => a - b);
  }
}
