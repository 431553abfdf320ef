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

/** Refused sign-ins: how many, of how many people, why, and what to say to a caller. */
export function Refusals(): ReactNode {
  const [filters, setFilter] = useFilters();
  const span = filters.get('span') ?? '';
  const begin = useBegin(span);
  const by = GROUPS.find(([value]) => value === filters.get('by'))?.[0] || 'error';
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
      <div className="head counted">
        <Total key={span} begin={begin} />
        <Switch
          name="by"
          legend="Count by"
          options={GROUPS}
          value={by === 'error' ? '' : by}
          choose={(value) => setFilter('by', value)}
        />
      </div>
      <Groups key={`${by} ${span}`} by={by} begin={begin} />
      <p className="hint">
        <Link href={trailOf({ event: 'sign_in_refused', since: begin })}>
          Refused sign-ins in the audit trail
        </Link>
      </p>
    </section>
  );
}

/** Refused sign-ins; by event all refusals, since a refused refresh, too, makes the user sign in again. */
function Groups({ by, begin }: { by: By; begin: string }): ReactNode {
  const filters = useMemo(
    () => ({ since: begin, ...(by === 'event' ? { result: 'refused' } : { event: 'sign_in_refused' }) }),
    [begin, by],
  );
  const { data, error, mutate } = useCounts({ by, ...filters });
  if (error) return <Failure error={error} retry={() => void mutate()} />;
  if (!data) return <Loading what="the refused sign-ins" />;
  if (data.counts.length === 0) return <Empty>No sign-in was refused.</Empty>;
  return <RefusalTable by={by} counts={data.counts} filters={filters} />;
}

/** The answer to "how many", and how far back the counting came. */
function Total({ begin }: { begin: string }): ReactNode {
  const { data } = useCounts({ by: 'event', since: begin, event: 'sign_in_refused' });
  const { attempts = 0, people = 0 } = data?.counts[0] ?? {};
  const isShort = data !== undefined && Date.parse(data.since) > Date.parse(begin);
  return (
    <p className="total" role="status">
      {data && (
        <>
          <b>{formatNumber(attempts)}</b> {attempts === 1 ? 'attempt' : 'attempts'} of{' '}
          <b>{formatNumber(people)}</b> {people === 1 ? 'person' : 'people'}
        </>
      )}
      {isShort && (
        <span className="hint">
          There are too many events to count all: these are since <When at={data.since} isExact />.
        </span>
      )}
    </p>
  );
}

function useCounts(query: Record<string, string>) {
  return useSWR<AuditCounts, ApiError>(`/audit/counts?${new URLSearchParams(query).toString()}`, {
    keepPreviousData: true,
  });
}
