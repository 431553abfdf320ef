import { AuditEvent } from '../../audit/audit-event.js';

/** An audit event with the names that people know, as they are now. */
export class NamedEvent extends AuditEvent {
  /** There is no user with the `user_id`: it is that of a newcomer who was refused, or of a removed user. */
  no_user?: boolean | undefined;

  /** Name or e-mail address of the user; left out if the user is removed, or has none. */
  user_name?: string | undefined;

  /** The same of the user who caused it, if that is another. */
  actor_user_name?: string | undefined;

  device_name?: string | undefined;

  /** Name of the device or the user whose id is in `reason`. */
  ended_by_name?: string | undefined;

  /** From `user_agent`, e.g. `Chrome 156`. */
  browser?: string | undefined;

  /** From `user_agent`, e.g. `Windows 10/11`. */
  os?: string | undefined;
}

/** Answer of GET /admin/trail. */
export class NamedEvents {
  /** Newest first. May be fewer than `limit`, even none, although there are more. */
  events!: NamedEvent[];

  /** For the next page; left out on the last one. */
  next_cursor?: string | undefined;
}
