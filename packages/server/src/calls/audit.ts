import { checkNames } from '../option-names.js';
import { AuditStream, type AuditStreamEvent } from '../feed/audit-stream.js';
import type { AuditEvent, AuditName } from './audit-event.js';
import { pagesOf, type Pages } from './pages.js';
import type { ServiceCalls } from './service-calls.js';

/** A page of audit events, newest first. */
export interface AuditPage {
  readonly events: readonly AuditEvent[];
  /** Absent on the last page. A page may have no event and a cursor. */
  readonly next_cursor?: string;
}

/** Which events to find: all conditions have to be met. */
export interface AuditQuery {
  readonly userId?: string | undefined;
  readonly event?: AuditName | undefined;
  readonly provider?: string | undefined;
  readonly result?: AuditEvent['result'] | undefined;
  /** A `Date`, or RFC 3339. */
  readonly since?: Date | string | undefined;
  readonly until?: Date | string | undefined;
  /** Events of a page, 1,000 at most. Default 50. */
  readonly limit?: number | undefined;
  /** `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

const QUERY = {
  userId: true,
  event: true,
  provider: true,
  result: true,
  since: true,
  until: true,
  limit: true,
  cursor: true,
} as const;

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
    const { userId, since, until, ...others } = query;
    const conditions = { ...others, user_id: userId, since: timeOf(since), until: timeOf(until) };
    return pagesOf(this.calls, '/audit', 'read', conditions, ({ events }: AuditPage) => events);
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

function timeOf(time: Date | string | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}
