import type { Settings } from '../../platform/config/settings/settings.js';

type EndSettings = Pick<Settings, 'sessionIdleTtl' | 'maxSessions' | 'providers'>;

/**
 * Whether sessions may end before `REFRESH_TOKEN_TTL`: answers with tokens then say when
 * (docs/guides/session-length.md#how-long-a-session-lasts).
 */
export function mayEndEarly({ sessionIdleTtl, maxSessions, providers }: EndSettings): boolean {
  const isAnyOffline = [...providers.values()].some(({ offline }) => offline);
  return sessionIdleTtl !== undefined || maxSessions !== undefined || isAnyOffline;
}

/** When a session ends, as answers with tokens say. Seconds from now. */
export interface SessionEnds {
  readonly refresh_token_expires_in?: number;
  readonly idle_expires_in?: number;
}

/**
 * @param lifetime seconds to the end of the refresh token
 * @param idle seconds to the idle end; null: there is none
 */
export function toSessionEnds(lifetime: number, idle: number | null): SessionEnds {
  return {
    refresh_token_expires_in: Math.max(0, Math.floor(lifetime)),
    ...(idle !== null && { idle_expires_in: Math.max(0, Math.floor(idle)) }),
  };
}
