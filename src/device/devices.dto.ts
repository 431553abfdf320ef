import { Expose, Type } from 'class-transformer';
import { OptionalText, RequiredText } from '../http/parameters/parameter.js';
import { CURSOR } from './device.store.js';

/** Query of GET /devices. */
export class DevicesDto {
  /** `next_cursor` of the page before; left out: the first page. */
  @OptionalText({ matches: { pattern: CURSOR, as: 'the next_cursor of an answer' } })
  cursor?: string;
}

/** Body of PATCH /devices/:device_id. */
export class RenameDto {
  /** Display name of the device. */
  @RequiredText({ max: 128 })
  device_name!: string;
}

/** A device of the caller (contract §4), made from a KnownDevice. */
export class DeviceView {
  /** UUID that the client generated. */
  @Expose({ name: 'deviceId' })
  device_id!: string;

  /** Display name; null if no client sent one. */
  @Expose({ name: 'deviceName' })
  device_name!: string | null;

  /** Null if no client sent one. */
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

  /** Whether it is the caller's device. */
  @Expose()
  current!: boolean;

  /** Whether it has a session that is neither signed out nor expired. */
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
