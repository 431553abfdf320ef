import type { ServiceCalls } from './service-calls.js';

const TIMEOUT_MS = 5000;

/** A user's claims by their source (contract §5). */
export interface ClaimsOfUser {
  /** Claims that the application has set. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Claims of the identity provider, as of the last sign-in. */
  readonly provider_claims: Readonly<Record<string, unknown>>;
  /** What access tokens carry: `roles`, `groups` and `entitlements` of both; of other names the application's. */
  readonly effective: Readonly<Record<string, unknown>>;
}

/** The users of the service. Calls need the right `users`, and may be repeated. */
export class Users {
  constructor(private readonly calls: ServiceCalls) {}

  /**
   * Returns a user's claims.
   * @throws LatchkeyError `not_found` for an unknown user; `temporarily_unavailable`, `service_key_refused`
   */
  claims(userId: string): Promise<ClaimsOfUser> {
    return this.call('GET', userId);
  }

  /**
   * Replaces the claims that the application has set; `{}` removes them. Within a second the user's devices and all APIs have the new
   * ones.
   * @throws LatchkeyError `not_found` for an unknown user, `invalid_request` for too many or too long claims, and for reserved names;
   *   `temporarily_unavailable`, `service_key_refused`
   *
   * @example
   * await latchkey.users.setClaims(userId, { roles: ['admin'], plan: 'pro' });
   */
  setClaims(userId: string, claims: Readonly<Record<string, unknown>>): Promise<ClaimsOfUser> {
    return this.call('PUT', userId, { claims });
  }

  private call(method: 'GET' | 'PUT', userId: string, body?: object): Promise<ClaimsOfUser> {
    const path = `/users/${encodeURIComponent(userId)}/claims`;
    const call = { method, right: 'users', timeoutMs: TIMEOUT_MS, isRepeatable: true } as const;
    return this.calls.send(path, { ...call, ...(body && { body }) });
  }
}
