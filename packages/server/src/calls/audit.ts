import { checkNames } from '../option-names.js';
import { AuditStream, type AuditStreamEvent } from '../feed/audit-stream.js';
import type { AuditEvent, AuditName } from './audit-event.js';
import { pagesOf, queryOf, type Pages, type Query } from './pages.js';
import type { ServiceCalls } from './service-calls.js';

/** A page of audit events, newest first. */
export interface AuditPage {
  readonly events: readonly AuditEvent[];
  /** Absent on the last page. A page may have no event and a cursor. */
  readonly next_cursor?: string;
}

/** Which events: all conditions have to be met. */
export interface AuditFilters {
  readonly userId?: string | undefined;
  readonly event?: AuditName | undefined;
  readonly provider?: string | undefined;
  /** Id of the person at the provider; only with `provider`, and without `userId`. */
  readonly providerUserId?: string | undefined;
  readonly result?: AuditEvent['result'] | undefined;
  readonly error?: string | undefined;
  /** IP address, or the network of one as events have it. */
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly deviceId?: string | undefined;
  /** Sign-ins on a device that was new to the user. */
  readonly newDevice?: true | undefined;
  /** Sign-ins from a network that was new to the user. */
  readonly newNetwork?: true | undefined;
  /** A `Date`, or RFC 3339. */
  readonly since?: Date | string | undefined;
  readonly until?: Date | string | undefined;
}

/** Which events to find, and how many at once. */
export interface AuditQuery extends AuditFilters {
  /** Events of a page, 1,000 at most. Default 50. */
  readonly limit?: number | undefined;
  /** `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** What is counted. Events without an error, or a provider, are left out. */
export interface AuditCountQuery extends AuditFilters {
  readonly by: 'error' | 'event' | 'provider' | 'hour';
}

export interface CountedEvents {
  /** An error, an event, a provider, or the beginning of an hour. `other` stands for all beyond the 100 most frequent. */
  readonly key: string;
  /** Number of events. */
  readonly attempts: number;
  /** Distinct people. Who is not known counts by the id at the provider, else by address. */
  readonly people: number;
}

export interface AuditCounts {
  /** Most attempts first; hours in their order. */
  readonly counts: readonly CountedEvents[];
  /** From this time on events were counted; later than asked for if there were too many. RFC 3339. */
  readonly since: string;
  readonly until: string;
}

const FILTERS = {
  userId: true,
  event: true,
  provider: true,
  providerUserId: true,
  result: true,
  error: true,
  address: true,
  requestId: true,
  sessionId: true,
  deviceId: true,
  newDevice: true,
  newNetwork: true,
  since: true,
  until: true,
} as const;
const QUERY = { ...FILTERS, limit: true, cursor: true } as const;
const COUNT_QUERY = { by: true, ...FILTERS } as const;

/** Where a stream begins and ends. */
export interface AuditStreamOptions {
  /** `lastEventId` of the last event that you have handled. Without it the stream begins now. */
  readonly lastEventId?: string | undefined;
  /** Ends the loop. */
  readonly signal?: AbortSignal | undefined;
}

/** The audit trail of the service. Needs the right `read` or `support`; the stream needs `read`. */
export class Audit {
  /** @param closing ends all streams */
  constructor(
    private readonly calls: ServiceCalls,
    private readonly warn: (message: string) => void,
    private readonly closing: AbortSignal,
  ) {}

  /**
   * Finds events, newest first: `await` returns a page, `for await` goes through all of them.
   * @throws LatchkeyError `invalid_request` for an unknown cursor; `temporarily_unavailable`, `service_key_refused`
   *
   * @example
   * const { events } = await latchkey.audit.find({ userId, event: 'sign_in_refused', limit: 20 });
   * for await (const { at, event } of latchkey.audit.find({ since: new Date('2026-11-01') })) console.log(at, event);
   */
  find(query: AuditQuery = {}): Pages<AuditPage, AuditEvent> {
    checkNames('audit.find()', query, QUERY);
    const { limit, cursor, ...filters } = query;
    const conditions = { ...conditionsOf(filters), limit, cursor };
    return pagesOf(this.calls, '/audit', 'read', conditions, ({ events }: AuditPage) => events);
  }

  /**
   * Counts the newest events that match. Needs the right `support`.
   * @throws LatchkeyError as `find`
   *
   * @example
   * const { counts } = await latchkey.audit.count({ by: 'error', since: new Date(Date.now() - 3_600_000) });
   */
  count(query: AuditCountQuery): Promise<AuditCounts> {
    checkNames('audit.count()', query, COUNT_QUERY);
    const { by, ...filters } = query;
    const path = `/audit/counts${queryOf({ by, ...conditionsOf(filters) })}`;
    return this.calls.send(path, { method: 'GET', right: 'support', isRepeatable: true });
  }

  /**
   * Follows the audit trail: each event as it is recorded, at least once, for each user in the order of the changes. The stream
   * reconnects and resumes after the last event; it ends with `signal`, and with the verifier's `close()`. Store `lastEventId` with what
   * you made of the event: it continues there after a restart.
   * @throws LatchkeyError `service_key_refused`, and another code of the service with status 4xx; not for an outage, which is
   *   reported to `onWarning`
   *
   * @example
   * for await (const { data, lastEventId } of latchkey.audit.stream({ lastEventId: await loadPosition() })) {
   *   await index(data);
   *   await storePosition(lastEventId);
   * }
   */
  stream(options: AuditStreamOptions = {}): AsyncGenerator<AuditStreamEvent, void, undefined> {
    checkNames('audit.stream()', options, { lastEventId: true, signal: true });
    const signals = [this.closing, ...(options.signal ? [options.signal] : [])];
    const stream = new AuditStream(this.calls, this.warn, AbortSignal.any(signals));
    return stream.from(options.lastEventId);
  }
}

function conditionsOf(filters: AuditFilters): Query {
  const { userId, providerUserId, requestId, sessionId, deviceId, newDevice, newNetwork, ...rest } = filters;
  const { since, until, ...others } = rest;
  return {
    ...others,
    user_id: userId,
    provider_user_id: providerUserId,
    request_id: requestId,
    session_id: sessionId,
    device_id: deviceId,
    new_device: newDevice,
    new_network: newNetwork,
    since: timeOf(since),
    until: timeOf(until),
  };
}

function timeOf(time: Date | string | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}
