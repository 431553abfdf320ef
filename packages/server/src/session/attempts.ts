import { createHash, randomBytes } from 'node:crypto';
import type { WithHeaders } from '../token/bearer.js';
import type { CookieSeal } from './cookie-seal.js';
import { cookiesOf, removeCookie, setCookie } from './cookies.js';

/** Characters of the state in the cookie's name: each tab has its own. */
const NAME_CHARS = 12;
/** Seconds; the service's states live as long. */
const LIFE = 600;
/** Of one browser, names and values: larger heads are refused by some servers, of 8 KiB and more. About ten attempts. */
const MOST_CHARS = 4000;

/** A sign-in between `sign-in` and `callback`. */
export interface Attempt {
  readonly state: string;
  /** PKCE (RFC 7636). */
  readonly verifier: string;
  /** Absolute address of a page of the application. */
  readonly returnTo: string;
}

/**
 * Keeps attempts in the browser that begins them, each in an encrypted cookie. So a callback of another browser is refused (login CSRF,
 * RFC 9700 §4.7), and it may arrive at any process.
 */
export class Attempts {
  private readonly prefix: string;

  /** @param cookieName of the session: with a dot, so that it is no other application's */
  constructor(
    private readonly seal: CookieSeal,
    cookieName: string,
  ) {
    this.prefix = `${cookieName}.sign-in-`;
  }

  /** @returns the attempt, and the cookies to set */
  begin(request: WithHeaders, returnTo: string): { attempt: Attempt; cookies: string[] } {
    const [state, verifier] = [secret(), secret()];
    const attempt = { state, verifier, returnTo };
    const name = this.nameOf(state);
    const until = Date.now() + LIFE * 1000;
    const sealed = this.seal.seal(name, JSON.stringify({ ...attempt, until }));
    let room = MOST_CHARS - name.length - sealed.length;
    const newestFirst = [...cookiesOf(request, this.prefix)].toReversed();
    const older = newestFirst.filter(([key, value]) => (room -= key.length + value.length) < 0);
    return { attempt, cookies: [...older.map(([key]) => removeCookie(key)), setCookie(name, sealed, LIFE)] };
  }

  /** @returns undefined if this browser has not begun it, or too long ago; `cookies` ends the attempt */
  end(request: WithHeaders, state: string): { attempt?: Attempt; cookies: string[] } {
    const name = this.nameOf(state);
    const value = cookiesOf(request, name).get(name);
    if (value === undefined) return { cookies: [] };
    const text = this.seal.open(name, value)?.text;
    const attempt = text === undefined ? undefined : (JSON.parse(text) as Attempt & { until: number });
    const isValid = attempt?.state === state && attempt.until > Date.now();
    return { ...(isValid && { attempt }), cookies: [removeCookie(name)] };
  }

  /** A state from outside may have any characters. */
  private nameOf(state: string): string {
    return this.prefix + state.replaceAll(/[^\w-]/g, '').slice(0, NAME_CHARS);
  }
}

/** S256 (RFC 7636 §4.2). */
export function challengeOf({ verifier }: Attempt): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

const secret = (): string => randomBytes(32).toString('base64url');
