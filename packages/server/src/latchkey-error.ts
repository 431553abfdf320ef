/**
 * What went wrong:
 * - `invalid_token` (401): the token is missing, malformed, forged or expired, or its session has ended
 * - `temporarily_unavailable` (503): the service could not be asked; the token may be good
 * - `service_key_refused` (500): the service does not know the `serviceKey`, or the key lacks the right that the call needs
 * - any other: the service's own code and status, e.g. `not_found` (404) of `push()` for an unknown user
 */
export type ErrorCode = 'invalid_token' | 'temporarily_unavailable' | 'service_key_refused' | (string & {});

/** The one error of this package. `status` is what your API may answer with: 401 is about its caller's token, nothing else. */
export class LatchkeyError extends Error {
  override readonly name = 'LatchkeyError';

  constructor(
    readonly code: ErrorCode,
    /** HTTP status. */
    readonly status: number,
    /** Fixed text for people, which holds nothing of the token. */
    readonly description: string,
    /** Headers that belong to the answer: `WWW-Authenticate`, `Retry-After`. */
    readonly headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(`${code}: ${description}`, options);
  }

  /** `status`, by the name that error handlers of Fastify and Express read. */
  get statusCode(): number {
    return this.status;
  }

  /** The answer's body, like the service's own (spec §7.1). */
  get body(): { error: string; error_description: string } {
    const body = { error: this.code, error_description: this.description };
    // Hidden, so that they are not sent: Nest and GraphQL drivers read both from an exception's body.
    return Object.defineProperties(body, {
      statusCode: { value: this.status },
      message: { value: this.description },
    });
  }

  /** The whole answer, for frameworks that work with `Request` and `Response`. */
  toResponse(): Response {
    return Response.json(this.body, { status: this.status, headers: this.headers });
  }
}

/** 401. RFC 6750 §3.1: no error attribute when no token was presented. */
export function invalidToken(description: string, presented = true): LatchkeyError {
  const challenge = presented ? 'Bearer error="invalid_token"' : 'Bearer';
  return new LatchkeyError('invalid_token', 401, description, { 'WWW-Authenticate': challenge });
}

/** 503: the service's trouble is never the caller's fault. */
export function temporarilyUnavailable(cause?: unknown, retryAfter = '1'): LatchkeyError {
  const description = 'the sign-in service cannot be asked at the moment';
  const headers = { 'Retry-After': retryAfter };
  return new LatchkeyError('temporarily_unavailable', 503, description, headers, { cause });
}
