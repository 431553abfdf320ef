import type { OtherIdentity } from './identity.js';

/**
 * Code of an error: the service's own, such as `invalid_grant` or `server_error`, or one of the client:
 * - `access_denied`: with status 403 the account may not sign in here, which the dialog has said; without a status the user declined
 *   at the provider
 * - `cancelled`: the user closed the dialog; show nothing
 * - `insecure_context`: the page was loaded over `http:`; use `https:` or `localhost`
 * - `invalid_state`: the callback belongs to no sign-in of this browser; sign in again
 * - `key_unavailable`: the session's key cannot be read at the moment; try again later
 * - `missing_peer`: `connect()` found no WebSocket (Node.js before 22), or `loadSocketIo` returned no Socket.IO client
 * - `network`: the service cannot be reached, or has not answered in time; try again later
 * - `no_browser`: `signIn()` or `handleCallback()` was called without a page, e.g. on a server
 * - `other_user`: another user than that of the session has signed in; the session stays
 * - `signed_out`: no user is signed in
 * - `unexpected_answer`: the answer is not from the service, but e.g. from a gateway
 */
export type ErrorCode =
  | 'access_denied'
  | 'cancelled'
  | 'insecure_context'
  | 'invalid_state'
  | 'key_unavailable'
  | 'missing_peer'
  | 'network'
  | 'no_browser'
  | 'other_user'
  | 'signed_out'
  | 'unexpected_answer'
  | (string & {});

/** Body of the service's errors. */
export interface ErrorBody {
  readonly error?: string;
  readonly error_description?: string;
  readonly identity?: OtherIdentity;
  readonly merge_token?: string;
}

/** Messages of the client's own codes, without those that files loaded later throw. */
const SENTENCES: Readonly<Record<string, string>> = {
  cancelled: 'The user closed the dialog.',
  invalid_state: 'The callback belongs to no sign-in of this browser: sign in again.',
  key_unavailable: "The session's key cannot be read: try again later.",
  missing_peer: 'There is no Socket.IO client: set loadSocketIo.',
  network: 'There is no answer: try again later.',
  no_browser: 'This needs a page in a browser.',
  signed_out: 'No user is signed in.',
  unexpected_answer: 'The answer is not from the service.',
};

/**
 * Every rejection of this package. `code` is for programs. `message` is a sentence in English for developers: the
 * `error_description` of the service's errors.
 *
 * @example
 * latchkey.signIn().catch(({ code }) => code === 'cancelled' || report(code));
 */
export class LatchkeyError extends Error {
  override readonly name = 'LatchkeyError';
  /** The account, with the code `identity_in_use`, if its user could become part of this one. */
  readonly identity: OtherIdentity | undefined;
  /** For `mergeUser()`, with the code `identity_in_use`; secret, for ten minutes. */
  readonly mergeToken: string | undefined;

  constructor(
    readonly code: ErrorCode,
    message = SENTENCES[code] ?? `The request failed with ${code}.`,
    /** HTTP status of the answer; undefined without an answer. */
    readonly status?: number,
    /** Seconds to wait before the next attempt (`Retry-After`). */
    readonly retryAfter?: number,
    body?: ErrorBody,
  ) {
    super(message);
    this.identity = body?.identity;
    this.mergeToken = body?.merge_token;
  }
}

/** Converts everything that a function throws to a LatchkeyError. */
export function rejecting<Parameters extends unknown[], Result>(
  work: (...parameters: Parameters) => Promise<Result>,
): (...parameters: Parameters) => Promise<Result> {
  return async (...parameters) => {
    try {
      return await work(...parameters);
    } catch (error) {
      // The browser throws for invalid parameters.
      throw error instanceof LatchkeyError ? error : new LatchkeyError('invalid_request', String(error));
    }
  };
}

/** Returns a module that is loaded when it is needed. @throws LatchkeyError `network` if it cannot be loaded */
export const orNetworkError = <Module>(loading: Promise<Module>): Promise<Module> =>
  loading.catch((error: unknown) => {
    throw noAnswer(error);
  });

/** @param cause what the browser has thrown */
export const noAnswer = (cause: unknown): LatchkeyError =>
  Object.assign(new LatchkeyError('network'), { cause });
