import { makeStopwatch } from '../service/timer.js';
import type { Stored } from './storage.js';
import { JUMP, type TokenKeeper } from './tokens.js';

/** The user's last action in any tab. Stored apart from the tokens, which another tab may be replacing. */
export interface LastAction {
  /** `signed_in_at` of the session. */
  readonly of: number;
  /** Milliseconds, by the device's clock. */
  readonly at: number;
}

export type Idle = ReturnType<typeof measureIdle>;

/**
 * Measures for how long the user has not acted, and ends the session in time, if the service says that idle time applies. Needs no
 * request: after a sleep, the page shows nothing of an ended session. Emits `acted`.
 */
export function measureIdle(
  storage: Stored<Partial<LastAction>>,
  keeper: TokenKeeper,
  emit: (name: string) => void,
) {
  const watch = makeStopwatch();
  /** What was last read: another value is news. */
  let known: number | undefined;

  /** Time of the last action that the service knows; the sign-in is the first. */
  const reported = (): number => {
    const { received_at = 0, idle_for = 0 } = keeper.get() ?? {};
    return received_at - idle_for * 1000;
  };
  const put = (): void => void storage.put({ of: keeper.get()!.signed_in_at, at: Date.now() });
  const lastAction = (): number => {
    const { of, at } = storage.get() ?? {};
    return of === keeper.get()?.signed_in_at && Number.isFinite(at) ? at! : reported();
  };
  const limit = (): number => {
    const { idle_expires_in, idle_for = 0 } = keeper.get() ?? {};
    return idle_expires_in! >= 0 ? idle_expires_in! + idle_for : Infinity;
  };
  /** Seconds since the last action. */
  const idleFor = (): number => {
    const at = lastAction();
    if (at !== known) {
      known = at;
      const age = Date.now() - at;
      watch.set(Math.max(age, 0));
      // From the future: the device's clock was set back, so the age is unknown. Stored once, or each page that is loaded would begin anew.
      if (age < -JUMP) put();
    }
    return watch.age() / 1000;
  };
  /** Seconds until the session ends unless the user acts; without idle time `Infinity`, and nothing is read. */
  const left = (): number => (limit() < Infinity ? limit() - idleFor() : Infinity);

  return {
    limit,
    idleFor,
    left,
    /** Whether the user has acted since the last report to the service. */
    isNews: (): boolean => left() < Infinity && lastAction() > reported() + JUMP,
    /** Parameter of a refresh; none without idle time. */
    report: (): { idle_for?: number } => (left() < Infinity ? { idle_for: Math.floor(idleFor()) } : {}),
    /** Ends the session if nobody has acted for too long. */
    check: (): void => {
      // Another tab may have stored newer tokens while this one was frozen.
      if (left() <= 0 && keeper.reload() && left() <= 0) keeper.end('idle', keeper.get()!.access_token);
    },
    /** To be called when the user acts. */
    acted: (): void => {
      put();
      emit('acted');
    },
  };
}
