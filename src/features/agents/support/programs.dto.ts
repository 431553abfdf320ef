/** What the end of a program did. */
export class ProgramSignedOut {
  /** Number of sessions that have ended. */
  sessions!: number;
}

/** A program at one API. */
export class ProgramView {
  /** Its client-ID URL, or its name in `AGENTS_FILE`. */
  client_id!: string;

  /** What it calls itself. */
  client_name!: string;

  /** The API that it may use. */
  resource!: string;

  /** Live sessions, of all users. */
  sessions!: number;
}

/** Programs with live sessions. */
export class ProgramList {
  /** Most sessions first; 500 at most. */
  programs!: ProgramView[];
}
