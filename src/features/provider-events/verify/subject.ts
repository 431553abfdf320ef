import { isObject } from '../../../platform/http/parameters/json.js';
import { isName } from '../../../provider/identity/identity.js';
import { withoutNulls } from '../../../provider/keys/remote-keys.js';

/** Whom a signal is about. */
export interface Subject {
  /** Absent: only the session is named. */
  readonly user?: { readonly sub: string } | { readonly email: string };
  /** Session at the provider; absent: all of the user. */
  readonly session?: string;
}

/** What a receiver knows of its transmitter and its provider. */
export interface Names {
  /** Issuers that name users of the provider, without a final slash. */
  readonly issuers: readonly string[];
  /** Members of a complex subject that must be understood (SSF 1.0 §7.1). */
  readonly critical: readonly string[];
}

/** Keycloak 26.7: the session in the event after a sign-out of all sessions by an administrator. */
const ALL_SESSIONS = 'ALL';

/** Why a subject names no user of this service. */
export class OtherSubject {
  /** @param why for the audit trail: no input */
  constructor(readonly why: string) {}
}

/**
 * Reads a subject identifier (RFC 9493; SSF 1.0 §3).
 * @returns undefined: it is malformed
 */
export function readSubject(sent: unknown, names: Names): Subject | OtherSubject | undefined {
  if (!isObject(sent)) return undefined;
  const value = withoutNulls(sent);
  const { format } = value;
  if (format !== 'complex' && !(format === undefined && ('user' in value || 'session' in value))) {
    const user = readUser(value, names);
    return user === undefined || user instanceof OtherSubject ? user : { user };
  }
  const unknown = names.critical.some((name) => name in value && name !== 'user' && name !== 'session');
  if (unknown) return new OtherSubject('a critical member of the subject is not understood');
  const user = value['user'] === undefined ? undefined : readUser(value['user'], names);
  if (user instanceof OtherSubject) return user;
  const session = value['session'] === undefined ? undefined : readSession(value['session']);
  if (session instanceof OtherSubject) return session;
  const isMalformed = (name: string, read: unknown): boolean => name in value && read === undefined;
  if (isMalformed('user', user) || isMalformed('session', session)) return undefined;
  if (!user && session === undefined) return new OtherSubject('the subject has neither user nor session');
  if (session === ALL_SESSIONS && user) return { user };
  return { ...(user && { user }), ...(session !== undefined && { session }) };
}

function readUser(value: unknown, { issuers }: Names): Subject['user'] | OtherSubject {
  if (!isObject(value)) return undefined;
  const { format, iss, sub, id, email } = value;
  switch (format) {
    case 'iss_sub':
      if (typeof iss !== 'string' || !isName(sub)) return undefined;
      if (issuers.includes(iss.replace(/\/$/, ''))) return { sub };
      return new OtherSubject('the subject has another issuer');
    case 'opaque':
      return isName(id) ? { sub: id } : undefined;
    case 'email':
      return isName(email) ? { email } : undefined;
    default:
      return typeof format === 'string' ? new OtherSubject('the subject has another format') : undefined;
  }
}

function readSession(value: unknown): string | OtherSubject | undefined {
  if (!isObject(value)) return undefined;
  const { format, id } = value;
  if (format !== 'opaque') {
    return typeof format === 'string' ? new OtherSubject('the session has another format') : undefined;
  }
  return isName(id) ? id : undefined;
}
