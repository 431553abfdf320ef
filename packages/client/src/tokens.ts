import type { Events } from './events.js';
import type { Binding } from './post.js';
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
  /** When the access token came, by the device's clock; milliseconds. */
  readonly received_at: number;
  /** When the refresh token came. */
  readonly signed_in_at: number;
  /** Absent where the session is not bound to a key. */
  readonly binding?: Binding;
}

/** What stays of an ended session in the storage, so that every tab gives the same reason. */
export interface Ended {
  readonly reason: EndReason;
}

/** Holds the tokens of this tab, in step with the storage and with the other tabs. */
export interface TokenKeeper {
  readonly get: () => Tokens | undefined;
  readonly session: () => Session | undefined;
  /** Seconds since the access token came. */
  readonly age: () => number;
  /** Keeps new tokens, which have just come, and tells the other tabs. */
  readonly put: (tokens: Omit<Tokens, 'received_at'>) => void;
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
  /** How old the access token was when it came into this page, and when that was; milliseconds. */
  let anchor: readonly [age: number, at: number] = [0, 0];

  const ageByDevice = (): number => Date.now() - (held?.received_at ?? 0);
  const session = (): Session | undefined =>
    held && {
      userId: held.user_id,
      deviceId: held.device_id,
      expiresAt: held.received_at + held.expires_in * 1000,
      bound: !!held.binding,
    };
  const isWhole = (value?: Partial<Tokens>): value is Tokens =>
    !!value?.access_token && !!value.refresh_token && value.expires_in! > 0;
  const take = (tokens: Tokens | undefined): void => {
    held = tokens;
    anchor = [Math.max(0, ageByDevice()), performance.now()];
  };
  const reload = (): Tokens | undefined => {
    const value = storage.get();
    const tokens = isWhole(value) ? value : undefined;
    const before = held;
    if (before?.access_token !== tokens?.access_token) {
      take(tokens);
      // When the tokens are another user's, somebody signed in anew in this browser.
      const reason = tokens ? 'user' : (value?.reason ?? 'signed_out');
      if (before && before.user_id !== tokens?.user_id) emit('ended', reason);
      emit('change', session());
    }
    return held;
  };
  const initial = storage.get();
  take(isWhole(initial) ? initial : undefined);

  return {
    get: () => held,
    session,
    // Two clocks, because each can be wrong: the device's may be set back, the monotonic one may stop during sleep. The one
    // that says more is right.
    age: () => Math.max(ageByDevice(), anchor[0] + performance.now() - anchor[1]) / 1000,
    put(received) {
      storage.put({ ...received, received_at: Date.now() });
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
