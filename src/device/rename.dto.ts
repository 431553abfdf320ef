import { RequiredText } from '../http/parameter.js';

/** Body of PATCH /devices/:device_id. */
export class RenameDto {
  /** Display name of the device. */
  @RequiredText({ max: 128 })
  device_name!: string;
}
