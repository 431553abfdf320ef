import { Expose } from 'class-transformer';
import { RequiredText } from '../platform/http/parameters/parameter.js';

/** Body of PATCH /devices/:device_id. */
export class RenameDto {
  /** Display name of the device. */
  @RequiredText({ max: 128 })
  device_name!: string;
}

/** What a program of a third party may do for the user. */
export class AgentView {
  /** Its client-ID URL, or its name in the settings. */
  client_id!: string;

  /** What it calls itself. */
  client_name!: string;

  /** The API that it may use. */
  resource!: string;

  /** What the user has allowed, separated by spaces. */
  scope!: string;

  /** When the user has allowed it; in JSON RFC 3339, UTC, with milliseconds. */
  allowed_at!: Date;

  /** Name of the provider that has allowed it in place of the user; left out: the user has. */
  allowed_by?: string;
}

/** A device of a user. */
export class DeviceView {
  /** UUID that the client generated. */
  @Expose()
  device_id!: string;

  /** Display name; null if no client sent one. */
  @Expose()
  device_name!: string | null;

  /** Null if no client sent one. */
  @Expose()
  user_agent!: string | null;

  /** Name and main version, from the user agent; null if it is unknown. */
  @Expose()
  browser!: string | null;

  /** Operating system with its version if the user agent has it; null if it is unknown. */
  @Expose()
  os!: string | null;

  /** Address of the last sign-in, as far as the service keeps it. */
  @Expose()
  address!: string | null;

  /** The first sign-in on it; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose()
  created_at!: Date;

  /** The last use of it, to the minute; in JSON RFC 3339, UTC, with milliseconds. */
  @Expose()
  last_seen_at!: Date;

  /** Whether it has a session that is neither signed out nor expired. */
  @Expose()
  signed_in!: boolean;

  /** Whether it has an open socket on some instance; advisory. */
  @Expose()
  online!: boolean;

  /** If it is a program of a third party. */
  @Expose()
  agent?: AgentView;
}

/** A device of the caller. */
export class OwnDevice extends DeviceView {
  /** Whether it is the caller's device. */
  current!: boolean;
}

/** Devices of a user, a page. */
export class DeviceList {
  /** Newest use first; 100 at most. */
  devices!: DeviceView[];

  /** For the next page; left out on the last one. */
  next_cursor?: string;
}

/** Answer of GET /devices. */
export class OwnDeviceList {
  /** Newest use first; 100 at most. */
  devices!: OwnDevice[];

  /** For the next page; left out on the last one. */
  next_cursor?: string;

  /** On the first page, if `GET /devices/refused` has programs; else left out. */
  has_refused_programs?: boolean;
}
