import { Expose, Type } from 'class-transformer';

/** A device as its user sees it (contract §4), made from a KnownDevice and from what is not stored. */
export class DeviceView {
  /** UUID that the client made up. */
  @Expose({ name: 'deviceId' })
  device_id!: string;

  /** For people; null where no client gave one. */
  @Expose({ name: 'deviceName' })
  device_name!: string | null;

  /** Null where no client told one. */
  @Expose({ name: 'userAgent' })
  user_agent!: string | null;

  /** The first sign-in on it; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose({ name: 'createdAt' })
  @Type(() => Date)
  created_at!: Date;

  /** The last use of it, to the minute; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose({ name: 'lastSeenAt' })
  @Type(() => Date)
  last_seen_at!: Date;

  /** Whether it is the caller's own. */
  @Expose()
  current!: boolean;

  /** Whether it has a session that lives: one that was neither signed out nor has expired. */
  @Expose({ name: 'signedIn' })
  signed_in!: boolean;

  /** Whether it has an open socket on some instance; advisory (contract §7). */
  @Expose()
  online!: boolean;
}

/** Answer of GET /devices. */
export class DeviceList {
  /** Newest use first; 100 at most. */
  @Expose()
  @Type(() => DeviceView)
  devices!: DeviceView[];

  /** For the next page; left out on the last one. */
  @Expose()
  next_cursor?: string;
}
