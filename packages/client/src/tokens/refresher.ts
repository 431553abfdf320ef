import { LatchkeyError } from '../latchkey-error.js';
import type { Post } from '../service/post.js';
import { after, backoff, onWake, sleep } from '../service/timer.js';
import type { EndCause } from '../session.js';
import { textOfClaims } from './claims.js';
import { exclusive } from './exclusive.js';
import type { Idle } from './idle.js';
import type { TokenKeeper, Tokens } from './tokens.js';

/** Seconds before expiry at which a token is refreshed (spec §8); half of its life if that is shorter. */
const LEAD = 300;
/** A token that ends at most this much before its session lives as long as the session; seconds. */
const SAME_END = 10;
/** Seconds after such a token until the service is asked: then it has ended the session. */
const END_DELAY = 2;
/** Seconds: longest wait after consecutive failures. */
const MAX_BACKOFF = 60;
const MAX_RETRY_AFTER = 3600;
/** Seconds until another tab's storage becomes visible. */
const STORAGE_DELAY = 0.2;
/** Seconds before a key counts as lost: a sign-out removes the key right after the tokens. */
const KEY_DELAY = 1;
/** Seconds between two refreshes for changed claims, which may change at any rate. */
const CLAIMS_DELAY = 0.3;
/** Seconds. Timers stop while a computer sleeps, so the clocks are read at least this often. */
const MAX_TIMER = 60;

/** An answer without these ends replaces them. */
const NO_ENDS = { idle_expires_in: undefined, refresh_token_expires_in: undefined, idle_for: undefined };

export type Refresher = ReturnType<typeof keepFresh>;

/**
 * Keeps the access token fresh (spec §1): refreshes it before it expires, when the page wakes up, and on demand; one tab at a time, and
 * the others take the new token from the storage. A failure delays the next attempt or ends the session
 * (docs/browser-sessions.md#refresh).
 * @param key name of the session's lock
 * @param life of a refresh token, in seconds, unless the service names its end
 */
export function keepFresh(key: string, keeper: TokenKeeper, post: Post, life: number, idle: Idle) {
  let flight: Promise<string> | undefined;
  let failures = 0;
  /** Up to a tenth of the lead, so that clients and tabs do not refresh at once. */
  let jitter = 0;
  let cancelTimer = (): void => undefined;
  let stopped = false;
  /** No request is sent before this time (`performance.now()`); callers get `lastError`. */
  let pausedUntil = 0;
  let lastError: unknown;
  /** The newest claims that the service has reported, and a token with older ones, which is due. */
  let newest = '';
  let outdated: string | undefined;
  /** Refreshes left to get these claims; negative: none is under way. */
  let tries = -1;

  const secondsUntilDue = (): number => {
    const { expires_in = 0, access_token, ...ends }: Partial<Tokens> = keeper.get() ?? {};
    if (access_token && access_token === outdated) return 0;
    const left = expires_in - keeper.age();
    const end = Math.min(ends.idle_expires_in ?? Infinity, ends.refresh_token_expires_in ?? Infinity);
    // The next token would end with the session, too: only an action that the service does not know is worth a request.
    if (end - expires_in <= SAME_END && !idle.isNews()) return left + END_DELAY;
    return left - Math.min(LEAD, expires_in / 2) * (1 + jitter);
  };

  const schedule = (): void => {
    cancelTimer();
    if (stopped || !keeper.get()) return;
    const wait = failures ? backoff(failures, MAX_BACKOFF) : secondsUntilDue();
    cancelTimer = after(Math.min(MAX_TIMER, Math.max(Math.min(wait, idle.left()), 0)), check);
  };

  const check = (): void => {
    idle.check();
    if (keeper.get() && secondsUntilDue() <= 0) refresh().catch(() => undefined);
    else schedule();
  };

  /**
   * Makes one attempt to replace the token `stale`; concurrent calls, of other tabs too, share it.
   * @throws LatchkeyError `signed_out` if the session has ended; any other code leaves the session as it is
   */
  const refresh = (stale = keeper.get()?.access_token): Promise<string> =>
    (flight ??= exclusive(key, async (waited) => {
      const token = await attempt(stale, waited);
      // The device may have slept until the answer arrived.
      return secondsUntilDue() > 0 ? token : attempt(token, false);
    }).finally(() => {
      flight = undefined;
      schedule();
    }));

  const attempt = async (stale: string | undefined, waited: boolean): Promise<string> => {
    // Tabs may be different processes: their storage may become visible after the lock is released.
    if (waited && keeper.reload()?.access_token === stale) {
      await sleep(STORAGE_DELAY);
    }
    keeper.reload();
    idle.check();
    const saved = keeper.get();
    if (!saved) throw signedOut();
    const { access_token, refresh_token, binding } = saved;
    if (access_token !== stale && secondsUntilDue() > 0) return access_token;
    if (performance.now() < pausedUntil) throw lastError;
    let answer: Tokens | undefined;
    const received_at = Date.now();
    const report = idle.report();
    try {
      answer = await post<Tokens>('/oauth2/refresh', { refresh_token, ...report }, () => binding);
      if (!answer.access_token || !(answer.expires_in > 0)) throw new LatchkeyError('unexpected_answer');
    } catch (error) {
      lastError = error;
      answer = undefined;
      if ((error as LatchkeyError).code === 'key_lost') await sleep(KEY_DELAY);
    }
    const current = keeper.reload();
    // Otherwise the session has ended or changed, and the answer is too late.
    if (current?.refresh_token === refresh_token) {
      if (!answer) handleFailure(lastError as LatchkeyError, current);
      // Otherwise this tab was frozen, and another one has stored a newer token.
      else if (current.access_token === access_token || current.received_at < received_at)
        keeper.put({ ...current, ...NO_ENDS, ...answer, ...report, received_at });
    }
    const now = keeper.get();
    if (!now) throw signedOut();
    if (!answer) throw lastError;
    return now.access_token;
  };

  /** Replaces the token if it has older claims than those that the service has reported, unless another tab has done so. */
  const renewClaims = async (): Promise<void> => {
    const saved = keeper.reload();
    if (--tries < 0 || !saved || textOfClaims(keeper.session()!.claims) === newest) return void (tries = -1);
    outdated = saved.access_token;
    await refresh().catch(() => undefined); // tried again with back-off
    await sleep(CLAIMS_DELAY);
    return renewClaims(); // the refresh may have begun before the change
  };

  /** Ends the session, or delays the next attempt. */
  const handleFailure = ({ code, status, retryAfter }: LatchkeyError, saved: Tokens): void => {
    const { refresh_token: token, refresh_token_expires_in, received_at, signed_in_at } = saved;
    const [from, seconds] = refresh_token_expires_in
      ? [received_at, refresh_token_expires_in]
      : [signed_in_at, life];
    if (code === 'key_lost') {
      keeper.end('key_lost');
      // No browser can use this session, or the tokens were copied from the one that can: then it ends there as well.
      post('/oauth2/revoke', { token, reason: 'key_lost' }).catch(() => undefined);
      return;
    }
    if ((status === 400 && code !== 'invalid_dpop_proof') || status === 401) return keeper.end('refused');
    if (Date.now() - from >= seconds * 1000) return keeper.end('expired');
    failures++;
    // The application may call at any rate: an overloaded service must not get these calls.
    pausedUntil = performance.now() + Math.min(retryAfter ?? (status ? 1 : 0), MAX_RETRY_AFTER) * 1000;
  };

  /** To be called after each change of the token. */
  const renewed = (): void => {
    jitter = Math.random() / 10;
    failures = 0;
    pausedUntil = 0;
    schedule();
  };

  const stopWaking = onWake(() => {
    keeper.reload(); // messages of other tabs are lost during a sleep
    check();
  });
  renewed();

  return {
    /**
     * Returns a token that is not due for a refresh.
     * @throws LatchkeyError `signed_out` without a session, or if another user has signed in; another code if no valid token can
     *   be obtained
     */
    fresh: async (): Promise<string> => {
      idle.check();
      const { user_id } = keeper.get() ?? {};
      if (!user_id) throw signedOut();
      if (secondsUntilDue() <= 0) {
        try {
          await refresh();
        } catch (error) {
          // A token that is due is still valid until it expires.
          if (keeper.age() >= (keeper.get()?.expires_in ?? 0)) throw error;
        }
      }
      const saved = keeper.get();
      if (saved?.user_id !== user_id) throw signedOut();
      return saved.access_token;
    },
    refresh,
    renewed,
    /** Ends a session that another one replaces, perhaps in this browser: not before a sign-in that is under way has stored its own. */
    replaced: (token: string, cause: EndCause): void =>
      void exclusive(key, async (waited) => {
        if (waited) await sleep(STORAGE_DELAY);
        keeper.end('signed_out', token, cause);
      }),
    /** To be called with the claims that the service reports. */
    expectClaims: (claims: unknown): void => {
      newest = textOfClaims(Object(claims) as object);
      const isRenewing = tries >= 0;
      tries = 2;
      if (!isRenewing) void renewClaims();
    },
    stop: (): void => {
      stopped = true; // a pending answer sets no timer
      cancelTimer();
      stopWaking();
    },
  };
}

export function signedOut(): LatchkeyError {
  return new LatchkeyError('signed_out');
}
