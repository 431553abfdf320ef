import { OptionalText, RequiredText } from '../../http/parameters/parameter.js';
import { UUID } from '../../http/parameters/uuid.js';

/** Body of POST /users/:user_id/sign-out; may be left out. */
export class UserSignOutDto {
  /** Only this device of the user. */
  @OptionalText({ matches: { pattern: UUID, as: 'a UUID' } })
  device_id?: string;
}

/** Body of POST /users/sign-out: who it is, as a provider names them (contract §6). */
export class ProviderUserDto {
  /** Name of the provider, which need not be configured any more. */
  @RequiredText({ max: 63 })
  provider!: string;

  /** Compared byte for byte. */
  @RequiredText({ max: 255, mayBeBlank: true })
  provider_user_id!: string;
}
