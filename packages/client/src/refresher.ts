import { exclusive } from './exclusive.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Post } from './post.js';
import { after, backoff, sleep } from './timer.js';
import type { TokenKeeper, Tokens } from './tokens.js';
import { onWake } from './wake.js';

/** All in seconds. How long before expiry to refresh (spec §8); for tokens of less than twice that, half of their life. */
const LEAD = 300;
const LONGEST_BACKOFF = 60;
/** The longest `Retry-After` that is obeyed. */
const LONGEST_PAUSE = 3600;
/** How long to wait for another tab's storage to become visible. */
const NEWS = 0.2;
/** The same, before the absence of a key is believed: whoever signs out, or in anew, removes it right after the tokens. */
const LATE_NEWS = 1;
/** Timers stop while a computer sleeps, so the clocks are looked at this often. */
const LONGEST_TIMER = 60;

/** Keeps the access token fresh (spec §1, client-side refresh behaviour; docs/frontend.md has the table of answers). */
export interface Refresher {
  /**
   * A token that is not due for a refresh.
   * @throws LatchkeyError when there is none, and none can be obtained; `signed_out` also where another user has signed in meanwhile
   */
  readonly fresh: () => Promise<string>;
  /**
   * Makes one attempt to get another token than `stale`: one at a time in each client, and in the whole browser.
   * @throws LatchkeyError `signed_out` when the session ended by it; any other code leaves the session as it is
   */
  readonly refresh: (stale?: string) => Promise<string>;
  /** To be called when there is a new token. */
  readonly renewed: () => void;
  readonly stop: () => void;
}

/**
 * @param key names the session among all that the browser has
 * @param life of a refresh token, in seconds
 */
export function keepFresh(key: string, keeper: TokenKeeper, post: Post, life: number): Refresher {
  let flight: Promise<string> | undefined;
  let failures = 0;
  /** Up to a tenth of the lead, so that clients, and the tabs of one, do not all refresh at the same moment. */
  let jitter = 0;
  let cancelTimer = (): void => undefined;
  let stopped = false;
  /** Until then, by the monotonic clock, the service gets no request; and the error that it answered. */
  let pausedUntil = 0;
  let lastError: unknown;

  /** How long the access token may still be used before it should be refreshed. */
  const secondsUntilDue = (): number => {
    const { expires_in = 0 } = keeper.get() ?? {};
    return expires_in - Math.min(LEAD, expires_in / 2) * (1 + jitter) - keeper.age();
  };

  const schedule = (): void => {
    cancelTimer();
    if (stopped || !keeper.get()) return;
    const wait = failures ? backoff(failures, LONGEST_BACKOFF) : secondsUntilDue();
    cancelTimer = after(Math.min(LONGEST_TIMER, Math.max(wait, 0)), check);
  };

  /** Refreshes in the background, when that is due. */
  const check = (): void => {
    if (keeper.get() && secondsUntilDue() <= 0) refresh().catch(() => undefined);
    else schedule();
  };

  const refresh = (stale = keeper.get()?.access_token): Promise<string> =>
    (flight ??= exclusive(key, async (waited) => {
      const token = await attempt(stale, waited);
      // The device may have slept while the answer was on its way.
      return secondsUntilDue() > 0 ? token : attempt(token, false);
    }).finally(() => {
      flight = undefined;
      schedule();
    }));

  const attempt = async (stale: string | undefined, waited: boolean): Promise<string> => {
    // The tabs may be different processes: what the other one stored may become visible after it has released the lock.
    if (waited && keeper.reload()?.access_token === stale) {
      await sleep(NEWS);
    }
    const held = keeper.reload(); // another tab may have been faster, or signed out
    if (!held) throw signedOut();
    const { access_token, refresh_token, binding } = held;
    if (access_token !== stale && secondsUntilDue() > 0) return access_token;
    if (performance.now() < pausedUntil) throw lastError;
    let answer: Tokens | undefined;
    const received_at = Date.now();
    try {
      answer = await post<Tokens>('/oauth2/refresh', { refresh_token }, binding);
      if (!answer.access_token || !(answer.expires_in > 0)) throw new LatchkeyError('unexpected_answer');
    } catch (error) {
      lastError = error;
      answer = undefined;
      if ((error as LatchkeyError).code === 'key_lost') await sleep(LATE_NEWS);
    }
    // It may have been signed out meanwhile, or in again: then the answer comes too late.
    const current = keeper.reload();
    if (current?.refresh_token === refresh_token) {
      if (!answer) judge(lastError as LatchkeyError, current);
      // Else another tab has overtaken this one, which was frozen: its token is newer.
      else if (current.access_token === access_token || current.received_at < received_at)
        keeper.put({ ...current, ...answer, received_at });
    }
    const now = keeper.get();
    if (!now) throw signedOut();
    if (!answer) throw lastError;
    return now.access_token;
  };

  /** What an answer other than a token means: the end of the session, or another attempt later. */
  const judge = ({ code, status, retryAfter }: LatchkeyError, { signed_in_at }: Tokens): void => {
    // Of its own accord: whoever has the key goes on with the session, so the service is not told.
    if (code === 'key_lost') return keeper.end('key_lost');
    if ((status === 400 && code !== 'invalid_dpop_proof') || status === 401) return keeper.end('refused');
    if (Date.now() - signed_in_at >= life * 1000) return keeper.end('expired');
    failures++;
    // The application may make requests at any rate; a service in trouble must be spared them.
    pausedUntil = performance.now() + Math.min(retryAfter ?? (status ? 1 : 0), LONGEST_PAUSE) * 1000;
  };

  const renewed = (): void => {
    jitter = Math.random() / 10;
    failures = 0;
    pausedUntil = 0;
    schedule();
  };

  const stopWaking = onWake(() => {
    keeper.reload(); // this tab may have slept while the others sent messages
    check();
  });
  renewed();

  return {
    async fresh() {
      const { user_id } = keeper.get() ?? {};
      if (!user_id) throw signedOut();
      if (secondsUntilDue() <= 0) {
        try {
          await refresh();
        } catch (error) {
          // The token is due for a refresh, but may still be valid.
          if (keeper.age() >= (keeper.get()?.expires_in ?? 0)) throw error;
        }
      }
      const held = keeper.get(); // as the clocks were looked at, it may have been seen that another tab has signed out
      if (held?.user_id !== user_id) throw signedOut(); // nobody's token is for whoever asked before
      return held.access_token;
    },
    refresh,
    renewed,
    stop() {
      stopped = true; // an answer that is still to come sets no timer again
      cancelTimer();
      stopWaking();
    },
  };
}

export function signedOut(): LatchkeyError {
  return new LatchkeyError('signed_out');
}
