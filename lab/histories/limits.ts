import type { Random } from '../../test/support/random.js';

/** What ends sessions besides their users (docs/guides/session-length.md#how-long-a-session-lasts). */
export interface Limits {
  /** Seconds: `SESSION_IDLE_TTL`. */
  readonly idleTtl: number;
  /** `MAX_SESSIONS` */
  readonly most: number;
}

/** The least idle time that the settings accept: by their reports clients bring ends near. */
export const LIMITS: Limits = { idleTtl: 300, most: 3 };

export function toEnv({ idleTtl, most }: Limits): Record<string, string> {
  return { SESSION_IDLE_TTL: String(idleTtl), MAX_SESSIONS: String(most) };
}

/** Seconds before the idle end: a session may be unused for as long. */
const NEAR = 6;

/** Returns what a client reports as `idle_for`; undefined: it reports nothing. */
export function drawIdleFor({ idleTtl }: Limits, random: Random): number | undefined {
  const how = random.weighted({ absent: 30, present: 30, away: 20, near: 16, beyond: 4 });
  if (how === 'absent') return undefined;
  if (how === 'present') return 0;
  if (how === 'away') return random.below(idleTtl);
  if (how === 'near') return idleTtl - 1 - random.below(NEAR);
  return idleTtl + random.below(2) * random.below(1000);
}
