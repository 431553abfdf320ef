import type { AuditEvent } from '../../../audit/audit-event.js';
import type { DeviceView } from '../../../device/devices.dto.js';
import type { SessionView } from '../../../token/sessions/sessions.dto.js';
import type { ClaimsOfUser, UserView } from './users.dto.js';

/** Identity by which the user may sign in as well. */
export class ExportedIdentity {
  /** Id that a user of this identity had, or would have. */
  user_id!: string;

  /** Name of the provider. */
  provider!: string;

  provider_user_id!: string;

  /** As of the last sign-in by it. */
  username!: string | null;

  email!: string | null;
}

/** What is stored of a user, in one document. Its parts are read one after the other. */
export class UserExport {
  /** When the reading began; RFC 3339, UTC, with milliseconds. */
  exported_at!: Date;

  user!: UserView;

  /** What the provider said of the user at the last sign-in, besides; its members are not stable. */
  identity!: Record<string, unknown>;

  /** By provider. */
  further_identities!: ExportedIdentity[];

  /** By their sources. */
  claims!: ClaimsOfUser;

  /** All devices, in the order of their ids. */
  devices!: DeviceView[];

  /** All live sessions, in the order of their ids. */
  sessions!: SessionView[];

  /** Newest first; 10,000 at most. Those of users who became part of this one are among them. */
  audit_events!: AuditEvent[];

  /** Whether the audit trail has older events of the user. */
  has_older_events!: boolean;
}
