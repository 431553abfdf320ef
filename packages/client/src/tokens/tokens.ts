import type { Events } from '../channel/events.js';
import type { Binding } from '../service/post.js';
import { after, makeStopwatch } from '../service/timer.js';
import type { EndCause, EndReason, Profile, Session } from '../session.js';
import { readClaims, readToken, textOfClaims, type UserClaims } from './claims.js';
import type { Stored } from './storage.js';

/** The tokens of a session as they are stored: the fields of spec §4.3, and their times. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  /** Seconds, counted from `received_at`. */
  readonly expires_in: number;
  /** Seconds until the session ends by itself. Absent if only `REFRESH_TOKEN_TTL` of the service ends it. */
  readonly refresh_token_expires_in?: number | undefined;
  /** Seconds until the session ends unless the user acts. Absent if idle time does not apply. */
  readonly idle_expires_in?: number | undefined;
  /** Seconds for which the user had not acted at `received_at`, as the service was told. */
  readonly idle_for?: number | undefined;
  readonly user_id: string;
  readonly device_id: string;
  /**
   * Milliseconds, by the device's clock, when the access token was requested. Not when it arrived: the device may have slept
   * before the tab could read the answer.
   */
  readonly received_at: number;
  /** Milliseconds, when the refresh token was requested. */
  readonly signed_in_at: number;
  /** Absent if the session is not bound to a key. */
  readonly binding?: Binding;
  /** Name of the provider of the sign-in. */
  readonly provider?: string | undefined;
  /** Absent until `GET /me` was answered. */
  readonly profile?: Profile | undefined;
}

/** Replaces an ended session in the storage, so that every tab reports this reason. */
export interface Ended {
  readonly reason: EndReason;
  readonly cause?: EndCause | undefined;
}

/** Milliseconds by which the two clocks may differ without a change of the device's time. */
export const JUMP = 1000;
/** Seconds until an emptied storage counts as lost, at least. */
const LOSS_DELAY = 2;

const REASONS: readonly EndReason[] = ['user', 'signed_out', 'refused', 'key_lost', 'expired', 'idle'];

export type TokenKeeper = ReturnType<typeof keepTokens>;

/**
 * Holds the tokens of this tab, in step with the storage and the other tabs. Emits `change` with the session, and `ended` with reason and cause.
 * @param notifyTabs reports a change of the storage to the other tabs; `ended`: the service has ended a session
 * @param dropLost gets the refresh token of a session whose storage was emptied: no page can use it after this one
 * @param dropKey gets the key of a session that has ended. Not of a replaced one: a slower tab may store that session again
 */
export function keepTokens(
  storage: Stored<Partial<Tokens & Ended>>,
  emit: Events['emit'],
  notifyTabs: (ended: boolean) => void,
  dropKey: (key: string) => void,
  dropLost: (refreshToken: string) => void,
) {
  let saved: Tokens | undefined;
  /** Of the access token. */
  const watch = makeStopwatch();

  /** The refresh token of the last session that ended, and the value stored at the last change. */
  let over: string | undefined;
  let last: Partial<Tokens & Ended> | undefined;
  let session: Session | undefined;
  /** Replaced only if they change, not by each refresh. */
  let claims: UserClaims = {};
  const take = (tokens: Tokens | undefined): void => {
    const isSame = saved?.access_token === tokens?.access_token;
    let age = tokens ? Date.now() - tokens.received_at : 0;
    if (tokens && !isSame && age < -JUMP) {
      // From the future: the device's clock was set back, so the age is unknown. Stored as expired for frozen tabs: their clocks
      // may not show the change.
      age = tokens.expires_in * 1000;
      storage.put((tokens = { ...tokens, received_at: Date.now() - age }));
    }
    saved = tokens;
    if (tokens && !isSame) {
      const others = readClaims(tokens.access_token);
      if (textOfClaims(others) !== textOfClaims(claims)) claims = others;
    }
    session = tokens && {
      userId: tokens.user_id,
      deviceId: tokens.device_id,
      expiresAt: tokens.received_at + tokens.expires_in * 1000,
      bound: !!tokens.binding,
      claims,
      ...tokens.profile,
    };
    // Another tab may know a higher age: this one may have been frozen.
    if (tokens && (!isSame || age > watch.age())) watch.set(age);
  };
  /** Waits for another tab to store the session again; one of the tabs reports its loss, and so ends it for all. */
  const awaitReturn = (refreshToken: string): void => {
    after(LOSS_DELAY * (1 + Math.random()), () => {
      const value = storage.get();
      if (readTokens(value) || value?.reason) return;
      storage.put({ reason: 'signed_out' });
      dropLost(refreshToken);
    });
  };
  /** Takes over what another tab has stored. @returns the current tokens */
  const reload = (): Tokens | undefined => {
    const value = storage.get();
    const tokens = readTokens(value);
    const before = saved;
    if (!before && over && tokens?.refresh_token === over) {
      // A slow tab stored the session again before it saw the end. Only an end is restored, which is final: tabs that disagree
      // about the newer of two sessions would never stop.
      storage.put(last);
      notifyTabs(false);
    } else if (JSON.stringify(before) !== JSON.stringify(tokens)) {
      take(tokens);
      // Tokens of another user: a new sign-in in this browser.
      const ended = REASONS.find((one) => one === value?.reason);
      const reason = tokens ? 'user' : (ended ?? 'signed_out');
      // A storage that was emptied or overwritten may get its session back.
      if (before && !tokens) over = ended && before.refresh_token;
      last = value;
      if (before && !tokens && !ended) awaitReturn(before.refresh_token);
      if (before && before.user_id !== tokens?.user_id)
        emit('ended', reason, tokens || !isText(value?.cause) ? undefined : value.cause);
      emit('change', session);
    }
    return saved;
  };
  /** Stores new tokens, and notifies the other tabs. */
  const put = (tokens: Tokens): void => {
    storage.put(tokens);
    reload();
    notifyTabs(false);
  };
  take(readTokens(storage.get()));

  return {
    get: () => saved,
    /** Returns an object that is replaced only when something in it changes. */
    session: () => session,
    /** Returns seconds since the access token was requested. */
    age: (): number => {
      const setBack = watch.setBack();
      if (Math.abs(setBack) > JUMP) {
        watch.set(watch.age());
        // Set back: a new page would compute too low an age.
        const { access_token } = saved ?? {};
        const current = setBack > 0 && reload();
        if (current && current.access_token === access_token) {
          storage.put({ ...current, received_at: Date.now() - watch.age() });
          reload();
        }
      }
      return watch.age() / 1000;
    },
    put,
    /** Stores the answer of `GET /me` if it is about this session's user. */
    putProfile: (user: { readonly user_id: string }): void => {
      const known = reload();
      if (known && known.user_id === user.user_id) put({ ...known, profile: readProfile(user) });
    },
    /**
     * Ends the session in all tabs, once; the reason of the first tab counts.
     * @param token of the session that has ended: a newer session stays
     * @param cause as the service names it
     */
    end: (reason: EndReason, token?: string, cause?: EndCause): void => {
      const ending = reload();
      if (!ending) return; // another tab has ended it
      if (token && readToken(token).sid !== readToken(ending.access_token).sid) return;
      storage.put({ reason, cause });
      notifyTabs(reason !== 'user'); // before a sign-out the service does not know yet
      reload();
      if (ending.binding) dropKey(ending.binding.key);
    },
    reload,
  };
}

/** Reads tokens from a storage, in which another script or an older version may have written anything. */
function readTokens(value?: Partial<Tokens>): Tokens | undefined {
  const { access_token, refresh_token, user_id, device_id, binding, profile } = value ?? {};
  const { issuer, key } = binding ?? { issuer: '-', key: '-' };
  const isComplete =
    [access_token, refresh_token, user_id, device_id, issuer, key].every(isText) &&
    [value!.expires_in, value!.received_at].every(Number.isFinite) &&
    value!.expires_in! > 0;
  return isComplete ? ({ ...value, ...(profile && { profile: readProfile(profile) }) } as Tokens) : undefined;
}

/** @param source an answer of the service, or a stored value */
function readProfile(source: unknown): Profile {
  const { username, email, avatarUrl, avatar_url = avatarUrl } = Object(source) as Record<string, unknown>;
  return {
    ...(isText(username) && { username }),
    ...(isText(email) && { email }),
    // Pages use it as `src` or `href`.
    ...(isText(avatar_url) && /^https?:/.test(avatar_url) && { avatarUrl: avatar_url }),
  };
}

function isText(value: unknown): value is string {
  return !!value && typeof value === 'string';
}
