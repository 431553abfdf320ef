import { OAuthParameters, RequiredText } from '../../../platform/http/parameters/parameter.js';
import { AgentTokenDto } from '../tokens/agent-token.dto.js';

/** Body of POST /oauth2/token with an identity assertion. */
@OAuthParameters()
export class IdJagDto extends AgentTokenDto {
  /** ID-JAG of a provider; used once. */
  @RequiredText({ max: 8192 })
  assertion!: string;
}

/** A program that the provider allows, and that a person has ended. */
export class RefusedProgram {
  /** Its device, which may be removed. */
  device_id!: string;

  /** Its client-ID URL, or its name in `AGENTS_FILE`. */
  client_id!: string;

  /** What it calls itself. */
  client_name!: string;

  /** The API that it may not use. */
  resource!: string;

  /** When it was ended; in JSON RFC 3339, UTC, with milliseconds. */
  refused_at!: Date;
}

/** Programs of the caller. */
export class RefusedProgramList {
  /** The latest end first; 100 at most. */
  programs!: RefusedProgram[];
}
