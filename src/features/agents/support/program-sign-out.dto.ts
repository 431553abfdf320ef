import { OptionalText, RequiredText } from '../../../platform/http/parameters/parameter.js';

/** Body of POST /agents/sign-out. */
export class ProgramSignOutDto {
  /** Its client-ID URL, or its name in `AGENTS_FILE`. */
  @RequiredText({ max: 2048 })
  client_id!: string;

  /** Only at this API. */
  @OptionalText({ max: 2048, matches: { pattern: /\S/, as: 'the identifier of an API' } })
  resource?: string;
}
