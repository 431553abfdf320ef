import type { Settings } from '../../platform/config/settings/settings.js';
import type { Declared } from '../../platform/declared.js';

/** Answer of POST /oauth2/refresh (spec §4.4). */
export class RefreshedToken {
  /** A JWT. */
  access_token!: string;

  token_type!: 'Bearer';

  /** Lifetime of the access token, in seconds. */
  expires_in!: number;

  /** Seconds to the end of the refresh token, if the session may end earlier than `REFRESH_TOKEN_TTL`. */
  refresh_token_expires_in?: number;

  /** Seconds to the end of the session without another use, if `SESSION_IDLE_TTL` is set. */
  idle_expires_in?: number;
}

/** When a session ends, as answers with tokens say. */
export type SessionEnds = Pick<RefreshedToken, 'refresh_token_expires_in' | 'idle_expires_in'>;

/**
 * Whether sessions may end before `REFRESH_TOKEN_TTL`: answers with tokens then say when
 * (docs/guides/session-length.md#how-long-a-session-lasts).
 */
export function mayEndEarly(
  { sessionIdleTtl }: Pick<Settings, 'sessionIdleTtl'>,
  { endsEarly }: Pick<Declared, 'endsEarly'>,
): boolean {
  return sessionIdleTtl !== undefined || endsEarly;
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
