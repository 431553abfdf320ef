import { isDatabaseAway } from './database-error.js';

/** All error codes of the service, with their status (spec §7.2; docs/errors.md#codes-of-the-service). */
export const ERROR_STATUS = {
  invalid_request: 400,
  invalid_client: 400, // spec §7.2: 400 here, 401 at a provider's exchange (§7.3)
  invalid_grant: 401, // spec §7.2: 401 here, 400 at a provider's exchange (§7.3)
  server_error: 500,
  invalid_token: 401,
  access_denied: 403, // RFC 6749 §4.1.2.1; docs/guides/access-policy.md
  invalid_dpop_proof: 400, // RFC 9449 §5
  insufficient_scope: 403,
  insufficient_user_authentication: 401, // RFC 9470 §3
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  unsupported_media_type: 415,
  slow_down: 429,
  unsupported_grant_type: 400, // RFC 6749 §5.2
  authorization_pending: 400, // RFC 8628 §3.5
  expired_token: 400,
  invalid_target: 400, // RFC 8707 §2; this and below: programs that act for a user
  invalid_scope: 400, // RFC 6749 §5.2
  unauthorized_client: 400,
  interaction_required: 400, // in a redirect only
  identity_in_use: 409, // the identity is that of another user
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export type StatusTable = Readonly<Record<ErrorCode, number>>;

export interface OAuthErrorOptions {
  /** Logged, never sent. */
  readonly cause?: unknown;
  /** Headers of the response (`Retry-After`, `Allow`, `WWW-Authenticate`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the audit trail instead of `description`: never sent. May quote input. */
  readonly reason?: string | undefined;
  /** Replaces the status of the code. */
  readonly status?: 400 | 422 | 503;
  /** Further members of the answer. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** The only error that clients get (spec §7.1). `description` is constant: no input, hosts, SQL or stack. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly headers: Readonly<Record<string, string>>;
  readonly ownStatus: number | undefined;
  readonly reason: string;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(
    readonly error: ErrorCode,
    readonly description: string,
    options: OAuthErrorOptions = {},
  ) {
    super(`${error}: ${description}`, options);
    this.headers = options.headers ?? {};
    this.ownStatus = options.status;
    this.reason = options.reason ?? description;
    this.members = options.members ?? {};
  }

  get status(): number {
    return this.ownStatus ?? ERROR_STATUS[this.error];
  }

  get body(): { readonly error: ErrorCode; readonly error_description: string } {
    return { error: this.error, error_description: this.description, ...this.members };
  }
}

/** Makes a `server_error` of an unexpected error, which becomes its `cause`, for the log only. */
export function toServerError(thrown: unknown): OAuthError {
  if (isDatabaseAway(thrown)) return databaseUnavailable(thrown);
  return new OAuthError('server_error', 'something went wrong', { cause: thrown });
}

/** Makes the error for an unavailable database: clients may retry after a second. */
export function databaseUnavailable(cause?: unknown): OAuthError {
  return new OAuthError('server_error', 'the database is unavailable', {
    ...(cause !== undefined && { cause }),
    headers: { 'Retry-After': '1' },
  });
}
