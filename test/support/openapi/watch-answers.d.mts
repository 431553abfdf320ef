import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

export interface Answered {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  /** Undefined for an event stream. */
  readonly body: string | undefined;
}

export function watchAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  report: (answer: Answered) => void,
): void;

// Defined by environment.mjs.
declare global {
  /** Compares an answer with docs/openapi.json; on a difference the running test fails. */
  var answered: (answer: Answered) => void;
}
