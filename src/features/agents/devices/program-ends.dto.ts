import { OptionalText, RequiredText } from '../../../platform/http/parameters/parameter.js';

/** Body of POST /agents/sign-out. */
export class ProgramSignOutDto {
  /** Client-ID URL of the program, or its name in AGENTS_FILE. */
  @RequiredText({ max: 2048 })
  client_id!: string;

  /** Only its sessions for this API, as AGENTS_FILE writes it. */
  @OptionalText({ max: 2048 })
  resource?: string;
}

/** Answer of POST /agents/sign-out. */
export class ProgramSignedOut {
  /** How many sessions have ended. */
  sessions!: number;

  /** How many are left, since the call took ten seconds: call again. */
  remaining!: number;
}
