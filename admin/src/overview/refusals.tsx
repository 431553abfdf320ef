import { useMemo, type ReactNode } from 'react';
import useSWR from 'swr';
import { Link } from 'wouter';
import type { ApiError } from '../api/api.js';
import type { AuditCounts } from '../api/types.js';
import { trailOf } from '../audit/filter-names.js';
import { formatNumber } from '../parts/locale.js';
import { Empty, Failure, Loading } from '../parts/states.js';
import { Switch } from '../parts/switch.js';
import { When } from '../parts/text.js';
import { useFilters } from '../parts/use-filters.js';
import { RefusalTable, type By } from './refusal-table.js';
import { SPANS, useBegin } from './spans.js';

const GROUPS = [
  ['', 'Error'],
  ['provider', 'Provider'],
  ['hour', 'Hour'],
  ['event', 'Event'],
] as const;

/** Refused sign-ins: how many, of how many people, why, and what to tell a caller. */
export function Refusals(): ReactNode {
  const [filters, setFilter] = useFilters();
  const span = filters.get('span') ?? '';
  const begin = useBegin(span);
  const by = (GROUPS.find(([value]) => value === filters.get('by'))?.[0] || 'error') as By;
  const range = useMemo(
    // Of other events, a refused refresh is the only one that signs somebody out.
    () => ({ since: begin, ...(by === 'event' ? { result: 'refused' } : { event: 'sign_in_refused' }) }),
    [begin, by],
  );
  const groups = useCounts({ by, ...range });
  const total = useCounts({ by: 'event', since: begin, event: 'sign_in_refused' });
  const counts = groups.data?.counts;
  return (
    <section className="card" aria-labelledby="refused">
      <div className="head">
        <h2 id="refused">How many could not sign in, and why</h2>
        <Switch
          name="span"
          legend="Time"
          options={SPANS}
          value={span}
          choose={(value) => setFilter('span', value)}
        />
      </div>
      <div className="head">
        <Total counts={total.data} asked={begin} />
        <Switch
          name="by"
          legend="Count by"
          options={GROUPS}
          value={by === 'error' ? '' : by}
          choose={(value) => setFilter('by', value)}
        />
      </div>
      {groups.error && <Failure error={groups.error} retry={() => void groups.mutate()} />}
      {!counts && !groups.error && <Loading what="the refused sign-ins" />}
      {counts?.length === 0 && <Empty>No sign-in was refused.</Empty>}
      {counts && counts.length > 0 && <RefusalTable by={by} counts={counts} filters={range} />}
      <p className="hint">
        <Link href={trailOf({ event: 'sign_in_refused', since: begin })}>
          Refused sign-ins in the audit trail
        </Link>
      </p>
    </section>
  );
}

function useCounts(query: Record<string, string>) {
  return useSWR<AuditCounts, ApiError>(`/audit/counts?${new URLSearchParams(query)}`, {
    keepPreviousData: true,
  });
}

/** The answer to "how many", and how far back the counting came. */
function Total({ counts, asked }: { counts: AuditCounts | undefined; asked: string }): ReactNode {
  const { attempts = 0, people = 0 } = counts?.counts[0] ?? {};
  const isShort = counts !== undefined && Date.parse(counts.since) > Date.parse(asked);
  return (
    <p className="total" role="status">
      {counts && (
        <>
          <b>{formatNumber(attempts)}</b> {attempts === 1 ? 'attempt' : 'attempts'} of{' '}
          <b>{formatNumber(people)}</b> {people === 1 ? 'person' : 'people'}
        </>
      )}
      {isShort && (
        <span className="hint warning">
          There are too many events to count all: these are since <When at={counts.since} isExact />.
        </span>
      )}
    </p>
  );
}
