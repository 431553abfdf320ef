import { Expose } from 'class-transformer';
/** A live session. */
export class SessionView {
  /** UUID. */
  @Expose()
  session_id!: string;

  /** Null if the client named no device. */
  @Expose()
  device_id!: string | null;

  /** Name of the provider at which the user signed in. */
  @Expose()
  provider!: string;

  /** The sign-in; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose()
  created_at!: Date;

  /** The last use, to the minute; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose()
  last_used_at!: Date;

  /** When it ends, unless it is used before `idle_expires_at`; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose()
  expires_at!: Date;

  /** When it ends without another use; null: `SESSION_IDLE_TTL` was not set at the last one. */
  @Expose()
  idle_expires_at!: Date | null;

  /** Why it ends then: the end of the refresh token, of the idle time, or of the session at the provider. */
  @Expose()
  ends_because!: 'lifetime' | 'idle' | 'session_expiry';

  /** Whether it is bound to a key of the client. */
  @Expose()
  bound!: boolean;

  /**
   * When the user last authenticated, as the provider says; null if it does not say. In JSON RFC 3339, UTC,
   * with milliseconds.
   */
  @Expose()
  auth_time!: Date | null;

  /** Address of the sign-in, as far as the service keeps it. */
  @Expose()
  address!: string | null;

  /** Of the sign-in; null if it had none. */
  @Expose()
  user_agent!: string | null;

  /** Name and main version, from the user agent; null if it is unknown. */
  @Expose()
  browser!: string | null;

  /** Operating system with its version if the user agent has it; null if it is unknown. */
  @Expose()
  os!: string | null;

  /** Whether its device has an open socket on some instance; advisory. */
  @Expose()
  online!: boolean;
}

/** Live sessions of a user, a page. */
export class SessionList {
  /** Newest use first; 100 at most. */
  sessions!: SessionView[];

  /** For the next page; left out on the last one. */
  next_cursor?: string;
}
