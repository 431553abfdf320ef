/**
 * What went wrong, as a code: one that the service has answered, such as `invalid_grant` or `server_error`, or one of the client:
 * - `cancelled`: the user has closed the dialog, which is no failure: show nothing
 * - `insecure_context`: the page came over `http:`, where browsers give no cryptography
 * - `invalid_state`: the callback belongs to no sign-in that this browser has begun
 * - `key_unavailable`: the key of the session cannot be read at the moment; try again later
 * - `missing_peer`: `connect()` where there is no WebSocket (Node.js before 22), or `loadSocketIo` has brought no Socket.IO client
 * - `network`: the service cannot be reached, or has not answered in time
 * - `no_browser`: `signIn()` or `handleCallback()` where there is no page, as on a server
 * - `signed_out`: nobody is signed in
 * - `unexpected_answer`: what has answered is not the service
 */
export type ErrorCode =
  | 'cancelled'
  | 'insecure_context'
  | 'invalid_state'
  | 'key_unavailable'
  | 'missing_peer'
  | 'network'
  | 'no_browser'
  | 'signed_out'
  | 'unexpected_answer'
  | (string & {});

/**
 * Everything that this package rejects with. `message` is in English and meant for developers.
 *
 * @example
 * latchkey.signIn().catch(({ code }) => code === 'cancelled' || report(code));
 */
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

/** Makes everything that a function throws or rejects with a LatchkeyError. */
export function rejecting<Parameters extends unknown[], Result>(
  work: (...parameters: Parameters) => Promise<Result>,
): (...parameters: Parameters) => Promise<Result> {
  return async (...parameters) => {
    try {
      return await work(...parameters);
    } catch (error) {
      // What is thrown by the browser comes from a parameter that makes no sense.
      throw error instanceof LatchkeyError ? error : new LatchkeyError('invalid_request', String(error));
    }
  };
}
