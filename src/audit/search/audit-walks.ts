import type { DataSource } from 'typeorm';
import type { Settings } from '../../config/settings/settings.js';
import { timeAt } from '../../database/page.js';
import { soughtAddress } from '../../http/network.js';
import type { Place } from '../../http/parameters/cursor.js';
import { NO_USER } from '../audit-event.js';
import { COLUMNS } from '../audit.sql.js';
import type { AuditFilters } from './audit.dto.js';

/** Filters with an index, from the one that leaves fewest events to the one that leaves most. */
const INDEXED = {
  request_id: 'uuid',
  session_id: 'uuid',
  device_id: 'uuid',
  user_id: 'uuid',
  address: 'text',
  error: 'text',
  new_network: 'boolean',
  new_device: 'boolean',
} as const;
const COLUMN_TYPES = { ...INDEXED, event: 'text', provider: 'text', result: 'text' } as const;
type Column = keyof typeof COLUMN_TYPES;

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const BEFORE = `coalesce(${timeAt('$1')}, 'infinity')`;
const IS_BEFORE = `(at, id) < (${BEFORE}, $2::uuid)`;
const SINCE = `coalesce($3::timestamptz, '-infinity')`;

/** Newest events of one index, of which some match. */
export interface Walk {
  /** SELECT, newest first, to which the caller adds a LIMIT: it bounds the time, whatever matches. */
  readonly events: string;
  /** Condition on an event that was selected. */
  readonly matches: string;
}

/** Reads the audit trail backwards, in the order of the index that leaves fewest events. */
export class AuditWalks {
  /** @param isDistributed whether the nodes of Citus have the events of a user each */
  constructor(
    private readonly dataSource: DataSource,
    private readonly addresses: Settings['auditAddresses'] = 'full',
    private readonly isDistributed = false,
  ) {}

  /**
   * @param after place of the last event of the page before
   * @param select statement that contains the walk
   */
  read<Row>(filters: AuditFilters, after: Place | undefined, select: (walk: Walk) => string): Promise<Row[]> {
    const before = placeBefore(after, filters.until);
    const since = filters.since && new Date(filters.since);
    const address = filters.address && soughtAddress(filters.address, this.addresses);
    const { values, ...walk } = this.walk({ ...filters, ...(address && { address }) });
    return this.dataSource.transaction(async (manager) => {
      // Raw: the plan must not depend on statistics, which may be old, and the walk has a bound of its own.
      await manager.query(
        'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off',
      );
      return manager.query<Row[]>(select(walk), [before?.place, before?.id ?? LAST_ID, since, ...values]);
    });
  }

  private walk(filters: AuditFilters): Walk & { readonly values: readonly unknown[] } {
    const given = Object.keys(COLUMN_TYPES).filter(
      (name) => filters[name as Column] !== undefined,
    ) as Column[];
    const value = (name: Column): string => `$${given.indexOf(name) + 4}::${COLUMN_TYPES[name]}`;
    const conditions = given.map((name) => `${name} = ${value(name)}`);
    const key = given.find((name) => name in INDEXED);
    const isRefusal = filters.result === 'refused' || filters.event?.endsWith('_refused'); // has an index
    const where = key
      ? [
          // With an equation, PostgreSQL might read the index on `at`, and so the events of all.
          `(${key}, at) <= (${value(key)}, ${BEFORE}) AND (${key}, at) >= (${value(key)}, ${SINCE})`,
          COLUMN_TYPES[key] === 'boolean' ? key : `${key} IS NOT NULL`, // as its index says
        ]
      : [IS_BEFORE, `at >= ${SINCE}`, ...(isRefusal ? [`result = 'refused'`] : [])];
    // Citus finds the node of a user by an equation.
    if (this.isDistributed && filters.user_id) where.push(`user_id = ${value('user_id')}`);
    const order = `${key ? `${key} DESC, ` : ''}at DESC, id DESC`;
    return {
      events: `SELECT ${COLUMNS} FROM audit_events WHERE ${where.join(' AND ')} ORDER BY ${order}`,
      matches: [IS_BEFORE, ...conditions].join(' AND '),
      values: given.map((name) => filters[name]),
    };
  }
}

function placeBefore(after: Place | undefined, until: string | undefined): Place | undefined {
  const end = until === undefined ? until : { place: String(Date.parse(until) * 1000), id: NO_USER };
  if (!after || !end) return after ?? end;
  return BigInt(after.place) < BigInt(end.place) ? after : end;
}
