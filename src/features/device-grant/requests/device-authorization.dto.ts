import { DeviceDto } from '../../../auth/token.dto.js';
import { OAuthParameters, OptionalText, RequiredText } from '../../../platform/http/parameters/parameter.js';

/** Body of POST /oauth2/device_authorization (RFC 8628 §3.1). */
@OAuthParameters()
export class DeviceAuthorizationDto extends DeviceDto {
  /** Name of the client, which the person sees; clients are not registered. */
  @RequiredText({ max: 255 })
  client_id!: string;

  /** E-mail address or user id of the person. */
  @OptionalText({ max: 320 })
  login_hint?: string;
}

/** Answer of POST /oauth2/device_authorization (RFC 8628 §3.2). */
export class DeviceAuthorization {
  /** Secret of the device, for `POST /oauth2/token`. */
  device_code!: string;

  /** What the person types: eight letters with a hyphen. */
  user_code!: string;

  /** The page for the code. */
  verification_uri!: string;

  /** The page with the code filled in, for a QR code. */
  verification_uri_complete!: string;

  /** Seconds that the codes live. */
  expires_in!: number;

  /** Seconds between polls. */
  interval!: number;

  /** With `DEVICE_GRANT=push`: two digits that the person compares. */
  number?: string;
}

/** Body of POST /oauth2/token with a device code (RFC 8628 §3.4). */
@OAuthParameters()
export class DeviceTokenDto {
  @RequiredText({ max: 255 })
  device_code!: string;

  /** As in the first request. */
  @RequiredText({ max: 255 })
  client_id!: string;
}
