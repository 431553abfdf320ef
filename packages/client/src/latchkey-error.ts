/** What went wrong, as a code: the service's own (contract §3), a provider's, or one of the client. */
export type ErrorCode =
  | 'cancelled'
  | 'insecure_context'
  | 'invalid_state'
  | 'key_unavailable'
  | 'missing_peer'
  | 'network'
  | 'signed_out'
  | 'unexpected_answer'
  | (string & {});

/** Everything that this package rejects with. `message` is in English and meant for developers. */
export class LatchkeyError extends Error {
  override readonly name = 'LatchkeyError';

  constructor(
    readonly code: ErrorCode,
    message: string = code,
    /** HTTP status of the answer; undefined when there was none. */
    readonly status?: number,
    /** Seconds that the answer asks to wait before another attempt (`Retry-After`). */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}
