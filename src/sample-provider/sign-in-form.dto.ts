import { OAuthParameters, Optional } from '../http/parameter.js';

/** The form of the login page. What is left out is asked for again; what is longer than any real one is refused before it is hashed. */
@OAuthParameters()
export class SignInFormDto {
  @Optional({ max: 255 })
  csrf_token?: string;

  @Optional({ max: 255 })
  login?: string;

  @Optional({ max: 1024 })
  password?: string;
}
