import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request as HttpRequest } from 'express';
import { printable } from '../platform/errors/printable.js';
import { storedAddress } from '../platform/http/network.js';
import { cleanUserAgent } from '../platform/http/user-agent.js';
import type { SessionIds } from '../platform/events.js';
import type { ActorType, AuditName } from './audit-names.js';
import type { StoredAuditEvent } from './audit-event.entity.js';
import { ClaimChanges } from './claim-changes.js';

/** Who caused an event. */
export class Actor {
  type!: ActorType;

  /** Of a user the `user_id`, of a service key the name, of a provider, or a part of it, its name. */
  name?: string | undefined;
}

export interface Origin {
  /** As `AUDIT_ADDRESSES` allows. */
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly requestId: string | null;
  readonly actor: Readonly<Actor>;
  /** Session of a user who calls. */
  readonly session?: SessionIds | undefined;
}

/** Origin of a change that no request causes. */
export function systemOrigin(name?: string): Origin {
  return { address: null, userAgent: null, requestId: null, actor: { type: 'system', name } };
}

export interface AuditFacts {
  readonly event: AuditName;
  /** Null: the user is not known. */
  readonly userId: string | null;
  readonly sessionId?: string | null | undefined;
  readonly deviceId?: string | null | undefined;
  readonly provider?: string | null | undefined;
  readonly providerUserId?: string | null | undefined;
  readonly error?: string | undefined;
  /** Any text; it is cleaned and cut. */
  readonly reason?: string | undefined;
  /** Of a sign-in. */
  readonly newDevice?: boolean | null | undefined;
  readonly newNetwork?: boolean | null | undefined;
  /** Of `user_merged`. */
  readonly formerUserId?: string | undefined;
  /** Of `claims_changed`. */
  readonly changes?: ClaimChanges | undefined;
  readonly origin: Origin;
}

/**
 * Event of the audit trail (docs/audit.md#the-audit-trail), as `GET /audit`, streams and webhooks send it.
 * @public
 */
export class AuditEvent {
  /** UUID. */
  id!: string;

  /** RFC 3339, UTC, with milliseconds. */
  at!: string;

  event!: AuditName;

  result!: 'ok' | 'refused';

  /** Error code of a refusal. */
  error?: string | undefined;

  /** At most 512 printable characters. */
  reason?: string | undefined;

  user_id?: string | undefined;

  session_id?: string | undefined;

  device_id?: string | undefined;

  provider?: string | undefined;

  /** Id of the user at the provider. */
  provider_user_id?: string | undefined;

  /** As `AUDIT_ADDRESSES` allows. */
  address?: string | undefined;

  user_agent?: string | undefined;

  actor!: Actor;

  /** `X-Request-Id` of the request. */
  request_id?: string | undefined;

  /** Of `sign_in` with a device: the first use of the device by the user within the retention. */
  new_device?: boolean | undefined;

  /**
   * Of `sign_in` with an address: the first sign-in of the user from this network (IPv4 /24, IPv6 /48) within
   * the retention.
   */
  new_network?: boolean | undefined;

  /** Of `user_merged`: the user who is now part of `user_id`. */
  former_user_id?: string | undefined;

  /** Of `claims_changed`. */
  changes?: ClaimChanges | undefined;
}

/** `user_id` in the table of an event without a known user. @public */
export const NO_USER = '00000000-0000-0000-0000-000000000000';

export type AuditRow = Omit<StoredAuditEvent, 'at'>;

/** Maps a row to the event that is sent. @public */
export function toAuditEvent({ at, ...row }: StoredAuditEvent): AuditEvent {
  return Object.assign({ id: row.id, at: at.toISOString() }, toRecordedEvent(row));
}

/** Maps a row to the event as it is published on the instance that recorded it. */
export function toRecordedEvent({ actor_type, actor_name, ...row }: AuditRow): Omit<AuditEvent, 'at'> {
  const type = actor_type as Actor['type'];
  const user_id = row.user_id === NO_USER ? null : row.user_id;
  const name = actor_name ?? (type === 'user' && user_id !== null ? user_id : undefined);
  const event: Record<string, unknown> = {};
  for (const [member, value] of Object.entries({ ...row, user_id }))
    if (value !== null) event[member] = value;
  return Object.assign(event, { actor: { type, name } }) as unknown as Omit<AuditEvent, 'at'>;
}

export function toAuditRow(id: string, facts: AuditFacts): AuditRow {
  const { event, userId, origin } = facts;
  const { type, name = null } = origin.actor;
  return {
    id,
    event,
    result: event.endsWith('_refused') || facts.error !== undefined ? 'refused' : 'ok',
    error: facts.error ?? null,
    reason: facts.reason === undefined ? null : printable(facts.reason, LONGEST_REASON),
    user_id: userId ?? NO_USER,
    session_id: facts.sessionId ?? null,
    device_id: facts.deviceId ?? null,
    provider: facts.provider ?? null,
    provider_user_id: facts.providerUserId ?? null,
    address: origin.address,
    user_agent: origin.userAgent,
    actor_type: type,
    actor_name: type === 'user' && name === userId ? null : name, // toRecordedEvent knows it
    request_id: origin.requestId,
    new_device: facts.newDevice ?? null,
    new_network: facts.newNetwork ?? null,
    former_user_id: facts.formerUserId ?? null,
    changes: facts.changes ?? null,
  };
}

const LONGEST_REASON = 512;

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the guard. */
    actor?: Readonly<Actor>;
  }
}

const LONGEST_USER_AGENT = 1024;

export const RequestOrigin = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  originOf(context.switchToHttp().getRequest<HttpRequest>()),
);

/** Returns the origin of a request. Without a guard that knows the actor, it is a user. */
export function originOf(request: HttpRequest): Origin {
  const { session, actor } = request;
  return {
    address: storedAddress(request),
    userAgent: cleanUserAgent(request.headers['user-agent']?.slice(0, LONGEST_USER_AGENT)),
    requestId: request.id,
    actor: actor ?? { type: 'user', name: session?.userId },
    session,
  };
}
