import { OAuthParameters, OptionalText } from '../http/parameters/parameter.js';

/** The form of the login page. Fields left out are asked for again; longer ones than any real are refused before hashing. */
@OAuthParameters()
export class SignInFormDto {
  @OptionalText({ max: 255 })
  csrf_token?: string;

  @OptionalText({ max: 255 })
  login?: string;

  @OptionalText({ max: 1024 })
  password?: string;

  /** Login of a demo account, whose password is used instead of what the fields hold. */
  @OptionalText({ max: 255 })
  demo?: string;
}
