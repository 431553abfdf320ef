import type { Events } from './events.js';
import type { EndReason, Session } from './session.js';
import type { Stored } from './storage.js';

/** The tokens of a session as they are stored: the fields of spec §4.3, and when they came. */
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
}

/** Holds the tokens of this tab, in step with the storage and with the other tabs. */
export interface TokenKeeper {
  readonly get: () => Tokens | undefined;
  readonly session: () => Session | undefined;
  /** Seconds since the access token came. */
  readonly age: () => number;
  /** Keeps new tokens, which have just come, and tells the other tabs. */
  readonly put: (tokens: Omit<Tokens, 'received_at'>) => void;
  /** Ends the session in all tabs: once, whoever notices first. */
  readonly end: (reason: EndReason) => void;
  /** Takes over what another tab has stored; says what is there now. @param reason why it is gone, if it is */
  readonly reload: (reason?: EndReason) => Tokens | undefined;
}

/**
 * Emits `change`, with the session, and `ended`, with the reason.
 * @param tell what the other tabs are told: that they should reload, and why a session has ended
 */
export function keepTokens(
  storage: Stored<Tokens>,
  emit: Events['emit'],
  tell: (reason?: EndReason) => void,
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
    };
  const read = (): Tokens | undefined => {
    const tokens = storage.get();
    return tokens?.access_token && tokens.refresh_token && tokens.expires_in > 0 ? tokens : undefined;
  };
  const take = (tokens: Tokens | undefined): void => {
    held = tokens;
    anchor = [Math.max(0, ageByDevice()), performance.now()];
  };
  const adopt = (tokens: Tokens | undefined, reason: EndReason): void => {
    const before = held;
    if (before?.access_token === tokens?.access_token) return;
    take(tokens);
    // Where another user takes over, that is the doing of this browser's user.
    if (before && before.user_id !== tokens?.user_id) emit('ended', tokens ? 'user' : reason);
    emit('change', session());
  };
  take(read());

  return {
    get: () => held,
    session,
    // Two clocks, because each has a fault: the device's may be set back, the monotonic one may stand still during
    // sleep. The one that says more is right.
    age: () => Math.max(ageByDevice(), anchor[0] + performance.now() - anchor[1]) / 1000,
    put(received) {
      const tokens = { ...received, received_at: Date.now() };
      storage.put(tokens);
      adopt(tokens, 'user');
      tell();
    },
    end(reason) {
      if (!held) return;
      storage.put();
      tell(reason);
      adopt(undefined, reason);
    },
    reload(reason = 'signed_out') {
      adopt(read(), reason);
      return held;
    },
  };
}
