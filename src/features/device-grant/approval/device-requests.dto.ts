import { OptionalText, RequiredBoolean } from '../../../platform/http/parameters/parameter.js';

/** An open request that names the caller. */
export class DeviceRequestView {
  /** UUID. */
  request_id!: string;

  /** As the client calls itself. */
  client_id!: string;

  device_name!: string | null;

  /** From its user agent: `Chrome 156`. */
  browser!: string | null;

  /** From its user agent: `Windows 10/11`. */
  os!: string | null;

  /** As `AUDIT_ADDRESSES` allows. */
  address!: string | null;

  created_at!: string;

  expires_at!: string;
}

/** Answer of GET /me/device-requests. */
export class DeviceRequestList {
  /** Newest first. */
  device_requests!: DeviceRequestView[];
}

/** Body of POST /me/device-requests/:code. */
export class DecideDto {
  @RequiredBoolean()
  approve!: boolean;

  /** The two digits that the device shows, to approve a request by its `request_id`. */
  @OptionalText({ matches: { pattern: /^\d{2}$/, as: 'two digits' } })
  number?: string;
}
