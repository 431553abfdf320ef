import { OAuthParameters, OptionalText } from '../http/parameter.js';

/** The form of the login page. What is left out is asked for again; what is longer than any real one is refused before it is hashed. */
@OAuthParameters()
export class SignInFormDto {
  @OptionalText({ max: 255 })
  csrf_token?: string;

  @OptionalText({ max: 255 })
  login?: string;

  @OptionalText({ max: 1024 })
  password?: string;
}
