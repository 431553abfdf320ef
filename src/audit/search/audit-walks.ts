import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { timeAt } from '../../platform/database/page.js';
import { errorCode } from '../../platform/errors/error-facts.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { soughtAddress } from '../../platform/http/network.js';
import type { Place } from '../../platform/http/parameters/cursor.js';
import { deriveUserId } from '../../identity/user-id.js';
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

const CANCELED = '57014'; // by the statement timeout
/** The plan must not depend on statistics, which may be old. */
export const BY_INDEX =
  'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const BEFORE = `coalesce(${timeAt('$1')}, 'infinity')`;
const IS_BEFORE = `(at, id) < (${BEFORE}, $2::uuid)`;
const SINCE = `coalesce($3::timestamptz, '-infinity')`;

/** The newest events of one index; some of them match. */
export interface Walk {
  /** SELECT, newest first, to which the caller adds a LIMIT: it bounds the time, also if few match. */
  readonly events: string;
  /** Condition on an event that was selected. */
  readonly matches: string;
  /** How the events are sorted: another order would read all before the first is returned. */
  readonly order: string;
}

/** Reads the audit trail backwards, in the order of the index that leaves fewest events. */
@Injectable()
export class AuditWalks {
  /** Statements before a walk. */
  protected readonly preparation: string = BY_INDEX;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(SETTINGS)
    private readonly settings: Pick<Settings, 'auditAddresses'> = { auditAddresses: 'full' },
  ) {}

  /**
   * @param after place of the last event of the page before
   * @param most events to read. A quarter of them by a filter with an index, since these are spread over the
   *   disk; then a tenth if that takes too long
   * @param select statement that contains the walk with this bound
   * @throws OAuthError `invalid_request` for an id at the provider without the provider, or with `user_id`
   */
  async read<Row>(
    filters: AuditFilters,
    after: Place | undefined,
    most: number,
    select: (walk: Walk, most: number) => string,
  ): Promise<Row[]> {
    const { since, until, address, provider_user_id: id, ...others } = filters;
    if (id !== undefined) {
      if (id === '' || !others.provider || others.user_id !== undefined)
        throw new OAuthError('invalid_request', 'provider_user_id needs provider, and excludes user_id');
      others.user_id = deriveUserId(others.provider, id);
    }
    const before = placeBefore(after, until);
    const sought = address && soughtAddress(address, this.settings.auditAddresses);
    const { values, isScattered, ...walk } = this.walk({ ...others, ...(sought && { address: sought }) });
    const bound = this.limit(most, others) / (isScattered ? 4 : 1);
    const run = (size: number): Promise<Row[]> =>
      this.dataSource.transaction(async (manager) => {
        // Raw: settings of the plan, and a walk that is bounded.
        await manager.query(this.preparation);
        const all = [before?.place, before?.id ?? LAST_ID, since && new Date(since), ...values];
        return manager.query<Row[]>(select(walk, size), all);
      });
    try {
      return await run(bound);
    } catch (error) {
      if (errorCode(error) !== CANCELED) throw error;
      return run(bound / 10);
    }
  }

  /** @returns events that one walk may read */
  protected limit(most: number, _filters: AuditFilters): number {
    return most;
  }

  /** @param value returns the parameter of a column */
  protected moreConditions(_filters: AuditFilters, _value: (column: 'user_id') => string): string[] {
    return [];
  }

  private walk(
    filters: AuditFilters,
  ): Walk & { readonly values: readonly unknown[]; readonly isScattered: boolean } {
    const columns = Object.keys(COLUMN_TYPES).filter(
      (name) => filters[name as Column] !== undefined,
    ) as Column[];
    const value = (name: Column): string => `$${columns.indexOf(name) + 4}::${COLUMN_TYPES[name]}`;
    const conditions = columns.map((name) => `${name} = ${value(name)}`);
    const key = columns.find((name) => name in INDEXED);
    const isRefusal = filters.result === 'refused' || filters.event?.endsWith('_refused'); // has an index
    const where = key
      ? [
          // With an equation, PostgreSQL might read the index on `at`, and so the events of all.
          `(${key}, at) <= (${value(key)}, ${BEFORE}) AND (${key}, at) >= (${value(key)}, ${SINCE})`,
          COLUMN_TYPES[key] === 'boolean' ? key : `${key} IS NOT NULL`, // as its index says
        ]
      : [IS_BEFORE, `at >= ${SINCE}`, ...(isRefusal ? [`result = 'refused'`] : [])];
    where.push(...this.moreConditions(filters, value));
    const order = `${key ? `${key} DESC, ` : ''}at DESC, id DESC`;
    return {
      events: `SELECT ${COLUMNS} FROM audit_events WHERE ${where.join(' AND ')} ORDER BY ${order}`,
      matches: [IS_BEFORE, ...conditions].join(' AND '),
      order,
      isScattered: key !== undefined,
      values: columns.map((name) => filters[name]),
    };
  }
}

function placeBefore(after: Place | undefined, until: string | undefined): Place | undefined {
  const end = until === undefined ? until : { place: String(Date.parse(until) * 1000), id: NO_USER };
  if (!after || !end) return after ?? end;
  return BigInt(after.place) < BigInt(end.place) ? after : end;
}
