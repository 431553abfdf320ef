// Answers of the service. Times are RFC 3339.

import type { AuditEvent as StoredEvent } from '../../../packages/server/src/calls/audit-event.js';
import type { ClaimValues as Claims, User } from '../../../packages/server/src/calls/user.js';

export type {
  ClaimsOfUser as UserClaims,
  ClaimValues as Claims,
  DeviceOfUser as Device,
  RemovedUser,
  SessionOfUser as Session,
  User,
  UserDetail,
} from '../../../packages/server/src/calls/user.js';
export type {
  HourOfSignIns as Hour,
  Overview,
  ProviderHealth,
} from '../../../src/features/administration/overview.dto.js';

/** What the signed-in person may do: `users` includes `support`. */
type Right = 'users' | 'support';

export interface AdminSession {
  readonly user_id: string;
  readonly username: string | null;
  readonly provider: string;
  readonly right: Right | null;
  readonly admin_role: string;
  readonly support_role: string;
}

/** As `GET /admin/trail` has it: with the names of people and devices, as they are now. */
export type AuditEvent = StoredEvent & { readonly no_user?: boolean } & {
  readonly [
    name in 'user_name' | 'actor_user_name' | 'device_name' | 'ended_by_name' | 'browser' | 'os'
  ]?: string;
};

/** Events with one error, event, provider or hour. */
export interface AuditCount {
  readonly key: string;
  readonly attempts: number;
  readonly people: number;
}

export interface AuditCounts {
  readonly counts: readonly AuditCount[];
  /** Later than asked for if there were too many events. */
  readonly since: string;
}

/** A provider as `GET /oauth2/providers` lists it. */
export interface OfferedProvider {
  readonly name: string;
  readonly label: string;
}

/** Features add members. */
export interface Provider extends OfferedProvider {
  readonly adapter: string;
  readonly url: string | null;
  readonly mode: string;
  /** The setting `allow`; null: everyone whom the provider sends. */
  readonly allow: string | null;
  readonly redirect_uris: readonly string[];
  readonly is_sample: boolean;
}

/** Whether the setting `allow` admits an account. */
export interface AllowVerdict {
  readonly allowed: boolean;
  /** The conditions that hold. */
  readonly by: string | null;
  /** Kind of the first condition that does not hold. */
  readonly reason: string | null;
}

/** Result of a test sign-in. Features add members. */
export interface TestResult {
  readonly identity: Pick<User, 'provider_user_id' | 'username' | 'email' | 'avatar_url'> | null;
  readonly error?: string;
  readonly reason?: string;
  readonly claims_received: Claims | null;
  readonly claims_kept: Claims;
  readonly claims_dropped: readonly { readonly name: string; readonly why: string }[];
  /** Null: there is no rule, or the sign-in failed. */
  readonly allow: AllowVerdict | null;
}

/** A page of a list; it may have fewer entries than asked for, even none, although there are more. */
export interface Page {
  readonly next_cursor?: string;
}
