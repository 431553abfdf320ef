import type { Events } from './events.js';
import type { Binding } from './post.js';
import { isText, readProfile, type Profile } from './profile.js';
import type { EndReason, Session } from './session.js';
import type { Stored } from './storage.js';

/** The tokens of a session as they are stored: the fields of spec §4.3, and when they were received. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  /** Seconds, counted from `received_at`. */
  readonly expires_in: number;
  readonly user_id: string;
  readonly device_id: string;
  /**
   * When the access token was asked for, by the device's clock; milliseconds. Not when it came: the device may have slept, or the tab
   * may have been frozen, before it could look at the answer.
   */
  readonly received_at: number;
  /** When the refresh token came. */
  readonly signed_in_at: number;
  /** Absent where the session is not bound to a key. */
  readonly binding?: Binding;
  /** Absent until the service was asked for it. */
  readonly profile?: Profile;
}

/** What stays of an ended session in the storage, so that every tab gives the same reason. */
export interface Ended {
  readonly reason: EndReason;
}

/** Milliseconds by which the clocks may differ without one of them having jumped. */
const JUMP = 1000;

const REASONS: readonly EndReason[] = ['user', 'signed_out', 'refused', 'key_lost', 'expired'];

/** Holds the tokens of this tab, in step with the storage and with the other tabs. */
export interface TokenKeeper {
  readonly get: () => Tokens | undefined;
  /** The same object until something in it changes. */
  readonly session: () => Session | undefined;
  /** Seconds since the access token was asked for. */
  readonly age: () => number;
  /** Keeps new tokens, and tells the other tabs. */
  readonly put: (tokens: Tokens) => void;
  /** Keeps what `GET /me` has answered, if it is about the user of this session, and tells the other tabs. */
  readonly know: (user: { readonly user_id: string }) => void;
  /** Ends the session in all tabs, once: the first tab that notices gives the reason. */
  readonly end: (reason: EndReason) => void;
  /** Takes over what another tab has stored; returns the tokens now held. */
  readonly reload: () => Tokens | undefined;
}

/**
 * Emits `change`, with the session, and `ended`, with the reason.
 * @param tell notifies the other tabs that the storage has changed; `ended`: because the service has ended a session
 * @param drop is told the key of a session that has ended. Not of one that another has replaced in the storage: a tab that does
 *   not see that yet may put the old one back
 */
export function keepTokens(
  storage: Stored<Partial<Tokens & Ended>>,
  emit: Events['emit'],
  tell: (ended: boolean) => void,
  drop: (key: string) => void,
): TokenKeeper {
  let held: Tokens | undefined;
  /** How old the access token was when the clocks were looked at, and what they said; milliseconds. */
  let looked: readonly [age: number, date: number, monotonic: number] = [0, 0, 0];
  const look = (age: number): void => void (looked = [age, Date.now(), performance.now()]);
  // Two clocks, because each can be wrong: the device's may be set back, the monotonic one may stop during sleep. The one that
  // says more is right, from one jump to the next: a clock may be set back before a sleep, or after it.
  const ageNow = (): number => {
    const [age, date, monotonic] = looked;
    return age + Math.max(Date.now() - date, performance.now() - monotonic);
  };

  /** The refresh token of the last session whose end was seen, and what was stored at the last change. */
  let over: string | undefined;
  let last: Partial<Tokens & Ended> | undefined;
  let session: Session | undefined;
  const take = (tokens: Tokens | undefined): void => {
    const isSame = held?.access_token === tokens?.access_token;
    let age = tokens ? Date.now() - tokens.received_at : 0;
    if (tokens && !isSame && age < -JUMP) {
      // From the future: the device's clock was set back, and nobody knows how old it is. It is stored as an old one, since a tab that
      // is frozen meanwhile, in which a clock may stand still, does not even see that.
      age = tokens.expires_in * 1000;
      storage.put((tokens = { ...tokens, received_at: Date.now() - age }));
    }
    held = tokens;
    session = tokens && {
      userId: tokens.user_id,
      deviceId: tokens.device_id,
      expiresAt: tokens.received_at + tokens.expires_in * 1000,
      bound: !!tokens.binding,
      ...tokens.profile,
    };
    // What another tab takes for older is: this one may have been frozen.
    if (tokens && (!isSame || age > ageNow())) look(age);
  };
  const reload = (): Tokens | undefined => {
    const value = storage.get();
    const tokens = readTokens(value);
    const before = held;
    if (!before && over && tokens?.refresh_token === over) {
      // Put back by a tab that had stored something of it before it saw its end: what one tab stores others see a moment later. Only an
      // end is stored again, which nobody undoes: tabs that disagree on which of two sessions is newer would never cease.
      storage.put(last);
      tell(false);
    } else if (JSON.stringify(before) !== JSON.stringify(tokens)) {
      take(tokens);
      // When the tokens are another user's, somebody signed in anew in this browser.
      const ended = REASONS.find((one) => one === value?.reason);
      const reason = tokens ? 'user' : (ended ?? 'signed_out');
      // Where somebody has emptied the storage, or written over it, whoever puts it back may have it back.
      if (before && !tokens) over = ended && before.refresh_token;
      last = value;
      if (before && before.user_id !== tokens?.user_id) emit('ended', reason);
      emit('change', session);
    }
    return held;
  };
  take(readTokens(storage.get()));

  return {
    get: () => held,
    session: () => session,
    age() {
      const [, date, monotonic] = looked;
      const setBack = performance.now() - monotonic - (Date.now() - date);
      if (Math.abs(setBack) > JUMP) {
        look(ageNow());
        // Set back: a page that is loaded now would take the token for younger than it is.
        const { access_token } = held ?? {};
        const current = setBack > 0 && reload();
        if (current && current.access_token === access_token) {
          storage.put({ ...current, received_at: Date.now() - ageNow() });
          reload();
        }
      }
      return ageNow() / 1000;
    },
    put(received) {
      storage.put(received);
      reload();
      tell(false);
    },
    know(user) {
      const known = reload();
      if (!known || known.user_id !== user.user_id) return; // it was asked for by a session that is over
      storage.put({ ...known, profile: readProfile(user) });
      reload();
      tell(false);
    },
    end(reason) {
      const ending = reload();
      if (!ending) return; // another tab was faster, and gave its reason
      storage.put({ reason });
      tell(reason !== 'user'); // the service does not know of that yet: a tab with a session of its own would ask too early
      reload();
      if (ending.binding) drop(ending.binding.key);
    },
    reload,
  };
}

/** Tokens from a storage, in which another script, or an older version, may have written anything. */
function readTokens(value?: Partial<Tokens>): Tokens | undefined {
  const { access_token, refresh_token, user_id, device_id, binding, profile } = value ?? {};
  const { issuer, key } = binding ?? { issuer: '-', key: '-' };
  const isWhole =
    [access_token, refresh_token, user_id, device_id, issuer, key].every(isText) &&
    [value!.expires_in, value!.received_at].every(Number.isFinite) &&
    value!.expires_in! > 0;
  return isWhole ? ({ ...value, ...(profile && { profile: readProfile(profile) }) } as Tokens) : undefined;
}
