/**
 * Code of an error:
 * - `invalid_token` (401): the token is missing, malformed, forged or expired, or its session has ended
 * - `insufficient_scope` (403): the user lacks the role or the claim that `requireRole()` or `requireClaim()` asks for, or the program
 *   the scope of `requireScope()`
 * - `insufficient_user_authentication` (401): the user has to sign in again, as `requireRecentAuth()` asks for (RFC 9470)
 * - `temporarily_unavailable` (503): the service could not be reached; the token may be valid
 * - `service_key_refused` (500): the service does not know the `serviceKey`, or the key lacks the right that the call needs
 * - any other: the service's own code and status, e.g. `not_found` (404) of `push()` for an unknown user
 */
export type ErrorCode =
  | 'invalid_token'
  | 'insufficient_scope'
  | 'insufficient_user_authentication'
  | 'temporarily_unavailable'
  | 'service_key_refused'
  | (string & {});

/**
 * The only error of this package. Answer with its `status`: 401 is about your caller's token and nothing else.
 *
 * @example
 * if (error instanceof LatchkeyError) return error.toResponse();
 */
export class LatchkeyError extends Error {
  override readonly name = 'LatchkeyError';

  constructor(
    readonly code: ErrorCode,
    /** HTTP status. */
    readonly status: number,
    /** Fixed text for people; contains nothing of the token. */
    readonly description: string,
    /** Headers of the answer: `WWW-Authenticate`, `Retry-After`. */
    readonly headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(`${code}: ${description}`, options);
  }

  /** `status`, under the name that Fastify and Express read. */
  get statusCode(): number {
    return this.status;
  }

  /** The answer's body, in the service's format (spec §7.1). */
  get body(): { error: string; error_description: string } {
    const body = { error: this.code, error_description: this.description };
    // Not enumerable, so not sent: Nest and GraphQL drivers read both from an exception's body.
    return Object.defineProperties(body, {
      statusCode: { value: this.status },
      message: { value: this.description },
    });
  }

  /** Returns the whole answer, for frameworks with `Request` and `Response`. */
  toResponse(): Response {
    return Response.json(this.body, { status: this.status, headers: this.headers });
  }
}

/** Returns a `WWW-Authenticate` (RFC 6750 §3). Values are of this package, or were checked to have no quotes. */
export function bearerChallenge(parameters: Readonly<Record<string, string | number>>): string {
  const all = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
  return ['Bearer', all.join(', ')].join(all.length > 0 ? ' ' : '');
}

/** @param presented whether there was a token: without one, RFC 6750 §3.1 wants no error attribute */
export function invalidToken(description: string, presented = true): LatchkeyError {
  const challenge = presented ? 'Bearer error="invalid_token"' : 'Bearer';
  return new LatchkeyError('invalid_token', 401, description, { 'WWW-Authenticate': challenge });
}

export function temporarilyUnavailable(cause?: unknown, retryAfter = '1'): LatchkeyError {
  const description = 'the sign-in service cannot be reached at the moment: try again later';
  const headers = { 'Retry-After': retryAfter };
  return new LatchkeyError('temporarily_unavailable', 503, description, headers, { cause });
}
