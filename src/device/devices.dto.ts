import { Expose, Type } from 'class-transformer';
import { browserOf } from '../http/user-agent.js';
import { OptionalCursor } from '../http/parameters/cursor.js';
import { RequiredText } from '../http/parameters/parameter.js';
import type { KnownDevice } from './device.store.js';

/** Query of GET /devices. */
export class DevicesDto {
  /** `next_cursor` of the page before; left out: the first page. */
  @OptionalCursor()
  cursor?: string;
}

/** Body of PATCH /devices/:device_id. */
export class RenameDto {
  /** Display name of the device. */
  @RequiredText({ max: 128 })
  device_name!: string;
}

/** A device of a user (contract §9), made from a KnownDevice and its Browser. */
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

  /** Name and main version, from the user agent; null if it is unknown. */
  @Expose()
  browser!: string | null;

  /** Operating system with its version if the user agent tells it; null if it is unknown. */
  @Expose()
  os!: string | null;

  /** Address of the last sign-in, as far as the service keeps it. */
  @Expose()
  address!: string | null;

  /** The first sign-in on it; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose({ name: 'createdAt' })
  @Type(() => Date)
  created_at!: Date;

  /** The last use of it, to the minute; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose({ name: 'lastSeenAt' })
  @Type(() => Date)
  last_seen_at!: Date;

  /** Whether it has a session that is neither signed out nor expired. */
  @Expose({ name: 'signedIn' })
  signed_in!: boolean;

  /** Whether it has an open socket on some instance; advisory (contract §7). */
  @Expose()
  online!: boolean;
}

/** A device of the caller (contract §4). */
export class OwnDevice extends DeviceView {
  /** Whether it is the caller's device. */
  @Expose()
  current!: boolean;
}

/** Devices of a user, a page. */
export class DeviceList {
  /** Newest use first; 100 at most. */
  @Expose()
  @Type(() => DeviceView)
  devices!: DeviceView[];

  /** For the next page; left out on the last one. */
  @Expose()
  next_cursor?: string;
}

/** Answer of GET /devices. */
export class OwnDeviceList {
  /** Newest use first; 100 at most. */
  @Expose()
  @Type(() => OwnDevice)
  devices!: OwnDevice[];

  /** For the next page; left out on the last one. */
  @Expose()
  next_cursor?: string;
}

/** What a DeviceView is made from. */
export function asListed(device: KnownDevice): object {
  return Object.assign(browserOf(device.userAgent), device);
}
