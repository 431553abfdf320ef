import { exclusive } from './exclusive.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Call } from './service.js';
import { after, backoff } from './timer.js';
import type { TokenKeeper, Tokens } from './tokens.js';
import { onWake } from './wake.js';

/** All in seconds. Spec §8; half of their life for tokens that live for less than twice that. */
const LEAD = 300;
const LONGEST_BACKOFF = 60;
/** Of what a `Retry-After` says. */
const LONGEST_PAUSE = 3600;
/** For what another tab has stored to arrive. */
const NEWS = 0.2;
/** Timers stand still while a computer sleeps, so the clocks are looked at this often. */
const LONGEST_TIMER = 60;

/** Keeps the access token fresh (spec §1, client-side refresh behaviour; docs/frontend.md has the table of answers). */
export interface Refresher {
  /** A token that is not due. @throws LatchkeyError when there is none, and none can be had */
  readonly fresh: () => Promise<string>;
  /**
   * Makes one attempt to get another token than `stale`: one flight a client, and one a browser.
   * @throws LatchkeyError `signed_out` when the session has ended by it; any other code means that nothing is decided
   */
  readonly refresh: (stale?: string) => Promise<string>;
  /** For when another token is there. */
  readonly renewed: () => void;
  readonly stop: () => void;
}

/**
 * @param key names the session among all that the browser has
 * @param life of a refresh token, in seconds
 */
export function keepFresh(key: string, keeper: TokenKeeper, call: Call, life: number): Refresher {
  let flight: Promise<string> | undefined;
  let failures = 0;
  /** So that not all clients, nor all tabs of one, come at the same moment: up to a tenth of the lead. */
  let jitter = 0;
  let cancelTimer = (): void => undefined;
  /** The service is to be left alone until then, by the monotonic clock; and what it said. */
  let pausedUntil = 0;
  let lastError: unknown;

  /** How long the access token may still be used before it should be refreshed. */
  const secondsUntilDue = (): number => {
    const { expires_in = 0 } = keeper.get() ?? {};
    return expires_in - Math.min(LEAD, expires_in / 2) * (1 + jitter) - keeper.age();
  };

  const schedule = (): void => {
    cancelTimer();
    if (!keeper.get()) return;
    const wait = failures ? backoff(failures, LONGEST_BACKOFF) : secondsUntilDue();
    cancelTimer = after(Math.min(LONGEST_TIMER, Math.max(wait, 0)), check);
  };

  /** In the background. */
  const check = (): void => {
    if (keeper.get() && secondsUntilDue() <= 0) refresh().catch(() => undefined);
    else schedule();
  };

  const refresh = (stale = keeper.get()?.access_token): Promise<string> =>
    (flight ??= exclusive(key, (waited) => attempt(stale, waited)).finally(() => {
      flight = undefined;
      schedule();
    }));

  const attempt = async (stale: string | undefined, waited: boolean): Promise<string> => {
    // Between processes of the browser, what that tab has stored may arrive later than the lock that it has let go.
    if (waited && keeper.reload()?.access_token === stale) {
      await new Promise<void>((resolve) => after(NEWS, resolve));
    }
    const held = keeper.reload(); // another tab may have been faster, or signed out
    if (!held) throw signedOut();
    const { access_token, refresh_token } = held;
    if (access_token !== stale && secondsUntilDue() > 0) return access_token;
    if (performance.now() < pausedUntil) throw lastError;
    let answer: Tokens | undefined;
    try {
      answer = await call<Tokens>('POST', '/oauth2/refresh', { refresh_token });
      if (!answer.access_token || !(answer.expires_in > 0)) throw new LatchkeyError('unexpected_answer');
    } catch (error) {
      lastError = error;
      answer = undefined;
    }
    // It may have been signed out meanwhile, or in again: then the answer comes too late.
    if (keeper.reload()?.refresh_token === refresh_token) {
      if (answer) keeper.put({ ...held, ...answer });
      else judge(lastError as LatchkeyError, held);
    }
    const now = keeper.get();
    if (!now) throw signedOut();
    if (!answer) throw lastError;
    return now.access_token;
  };

  /** What an answer other than a token means: the end of the session, or another attempt later. */
  const judge = ({ status, retryAfter }: LatchkeyError, { signed_in_at }: Tokens): void => {
    if (status === 400 || status === 401) return keeper.end('refused');
    if (Date.now() - signed_in_at >= life * 1000) return keeper.end('expired');
    failures++;
    // Requests of the application may come at any rate; a service in trouble is not to feel that.
    pausedUntil = performance.now() + Math.min(retryAfter ?? (status ? 1 : 0), LONGEST_PAUSE) * 1000;
  };

  const renewed = (): void => {
    jitter = Math.random() / 10;
    failures = 0;
    pausedUntil = 0;
    schedule();
  };

  const stopWaking = onWake(() => {
    keeper.reload(); // this tab may have slept through what the others said
    check();
  });
  renewed();

  return {
    async fresh() {
      if (!keeper.get()) throw signedOut();
      if (secondsUntilDue() <= 0) {
        try {
          return await refresh();
        } catch (error) {
          // It is due, but good for a while yet.
          if (keeper.age() >= (keeper.get()?.expires_in ?? 0)) throw error;
        }
      }
      return keeper.get()!.access_token;
    },
    refresh,
    renewed,
    stop() {
      cancelTimer();
      stopWaking();
    },
  };
}

export function signedOut(): LatchkeyError {
  return new LatchkeyError('signed_out');
}
