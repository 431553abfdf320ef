import { checkNames } from './option-names.js';
import { OPTIONS, type VerifierOptions } from './options.js';
import { Verifier } from './verifier.js';

export type {
  Audit,
  CountedEvents,
  AuditCountQuery,
  AuditCounts,
  AuditFilters,
  AuditPage,
  AuditQuery,
  AuditStreamOptions,
} from './calls/audit.js';
export type { AuditEvent, AuditName } from './calls/audit-event.js';
export type { Introspection } from './calls/introspector.js';
export type { Pages } from './calls/pages.js';
export type { Pushed, PushedEvent } from './calls/pushes.js';
export type {
  AgentOfUser,
  ClaimsOfUser,
  DeviceOfUser,
  DevicesPage,
  RemovedUser,
  RemovedUsersPage,
  SessionOfUser,
  SessionsPage,
  User,
  UserDetail,
  UsersPage,
} from './calls/user.js';
export type { NewUser, UserQuery, Users, UserToSignOut } from './calls/users.js';
export type { AuditStreamEvent } from './feed/audit-stream.js';
export { LatchkeyError, type ErrorCode } from './latchkey-error.js';
export type { VerifierOptions, WhenAway } from './options.js';
export type { ProtectedResource, ProtectedResourceOptions } from './protected-resource.js';
export {
  requireClaim,
  requireRecentAuth,
  requireRole,
  requireScope,
  type RecentAuth,
  type Requirement,
} from './requirements.js';
export type { WithHeaders } from './token/bearer.js';
export type { Claims } from './token/token-signature.js';
export type { UserClaims } from './token/user-claims.js';
export type { Authenticator, Verifier } from './verifier.js';

/**
 * Creates the verifier of an API's access tokens: one per process. With a `serviceKey` it follows the service's sign-outs from now on.
 * @throws TypeError for an invalid or unknown option
 *
 * @example
 * export const latchkey = createVerifier({
 *   issuer: 'https://id.example.com', // the service's PUBLIC_URL
 *   serviceKey: process.env.LATCHKEY_KEY, // one of its SERVICE_KEYS, with the right `read`
 * });
 */
export function createVerifier(options: VerifierOptions): Verifier {
  checkNames('createVerifier()', options, OPTIONS);
  return new Verifier(options);
}
