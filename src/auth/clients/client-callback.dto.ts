import { OAuthParameters, OptionalText, RequiredText } from '../../http/parameters/parameter.js';
import { STATE } from '../states/state.service.js';

/** Query of GET /providers/<name>/callback: what a provider sends the browser back with (RFC 6749 §4.1.2). */
@OAuthParameters()
export class ClientCallbackDto {
  @RequiredText({ matches: { pattern: STATE, as: '64 hex characters' } })
  state!: string;

  @OptionalText({ max: 16_384 })
  code?: string;

  /** What providers of another kind call their code (CAS). */
  @OptionalText({ max: 16_384 })
  ticket?: string;

  /** The provider, in its own words (RFC 9207). */
  @OptionalText({ max: 2048 })
  iss?: string;

  /** Why there is no code (RFC 6749 §4.1.2.1). */
  @OptionalText()
  error?: string;

  /** Logged, never sent on. */
  @OptionalText()
  error_description?: string;
}
