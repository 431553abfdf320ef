import { useMemo, type ReactNode } from 'react';
import type { AuditEvent } from '../api/types.js';
import { usePages } from '../api/use-pages.js';
import { Heading } from '../parts/heading.js';
import { Empty, Failure, Loading, More } from '../parts/states.js';
import { useFilters } from '../parts/use-filters.js';
import { Chips } from './chips.js';
import { Events } from './events.js';
import { FILTERS } from './filter-names.js';
import { Filters } from './filters.js';
import { useLive } from './use-live.js';

const LIMIT = '100';

/** The audit trail, newest first; new events appear every few seconds. */
export function Audit(): ReactNode {
  const [filters, setFilter] = useFilters();
  const query = useMemo(() => {
    const chosen = FILTERS.flatMap((name) => (filters.get(name) ? [[name, filters.get(name)!]] : []));
    return new URLSearchParams([...chosen, ['limit', LIMIT]]).toString();
  }, [filters]);
  const pages = usePages<AuditEvent>(`/admin/trail?${query}`, 'events');
  const canBeLive = !filters.get('until');
  const isLive = canBeLive && filters.get('live') !== 'off';
  const isLoaded = !pages.isLoading && !pages.error;
  const { events, isFailing } = useLive(query, pages.isOld ? [] : pages.rows, isLive && isLoaded);
  const shown = pages.isOld ? pages.rows : events;

  return (
    <>
      <div className="head">
        <Heading title="Audit" />
        {canBeLive && (
          <button
            type="button"
            className={`button small live ${isLive && !isFailing ? 'on' : ''}`}
            aria-pressed={isLive}
            onClick={() => setFilter('live', isLive ? 'off' : '')}
          >
            {isLive && isFailing ? 'Live, reconnecting …' : 'Live'}
          </button>
        )}
      </div>
      <Filters filters={filters} setFilter={setFilter}>
        <Chips filters={filters} setFilter={setFilter} events={shown} />
      </Filters>
      <section className="card list" aria-label="Found events">
        {shown.length > 0 && <Events events={shown} isOld={pages.isOld} />}
        {pages.error && <Failure error={pages.error} retry={pages.reload} />}
        {pages.isLoading && shown.length === 0 && <Loading what="events" lines={6} />}
        {isLoaded && shown.length === 0 && (
          <Empty>
            {pages.hasMore ? 'No event found so far, among the newest ones.' : 'There is no such event.'}
          </Empty>
        )}
        <More {...pages} label={shown.length === 0 ? 'Search further' : 'Load more'} />
      </section>
    </>
  );
}
