import { OptionalText } from '../http/parameter.js';

/** Body of POST /sign-out; may be left out. */
export class SignOutDto {
  @OptionalText({ matches: { pattern: /^(current|others|all)$/, as: 'current, others or all' } })
  scope?: 'current' | 'others' | 'all';
}
