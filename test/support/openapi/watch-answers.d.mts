import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

export interface Answered {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  /** Undefined where it has no end. */
  readonly body: string | undefined;
}

export function watchAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  tell: (answer: Answered) => void,
): void;

// Of the environment of the tests: see environment.mjs.
declare global {
  /** Tells of an answer; the test that runs fails if it is not as the document says. */
  var answered: (answer: Answered) => void;
  /** What differs from the document. */
  var faultOf: (answer: Answered) => string | undefined;
}
