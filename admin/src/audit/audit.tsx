import { useCallback, useMemo, type ReactNode } from 'react';
import type { AuditEvent } from '../api/types.js';
import { usePages } from '../api/use-pages.js';
import { useProviders } from '../api/use-providers.js';
import { Heading } from '../parts/heading.js';
import { Empty, Failure, Loading, More } from '../parts/states.js';
import { useFilters, useTyped } from '../parts/use-filters.js';
import { EVENT_NAMES } from './event-names.js';
import { Events } from './events.js';
import { useLive } from './use-live.js';

const LIMIT = '100';
const FILTERS = ['user_id', 'event', 'provider', 'result', 'since', 'until'];

/** The audit trail, newest first; new events appear every few seconds. */
export function Audit(): ReactNode {
  const [filters, setFilter] = useFilters();
  const query = useMemo(() => {
    const chosen = FILTERS.flatMap((name) => (filters.get(name) ? [[name, filters.get(name)!]] : []));
    return new URLSearchParams([...chosen, ['limit', LIMIT]]).toString();
  }, [filters]);
  const pages = usePages<AuditEvent>(`/audit?${query}`, 'events');
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
      <Filters filters={filters} setFilter={setFilter} />
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

function Filters({
  filters,
  setFilter,
}: {
  filters: Readonly<URLSearchParams>;
  setFilter: (name: string, value: string) => void;
}): ReactNode {
  const filterUser = useCallback((value: string) => setFilter('user_id', value), [setFilter]);
  const [user, setUser] = useTyped(filters.get('user_id') ?? '', filterUser);
  const providers = useProviders();
  const choices = {
    event: ['Event', Object.entries(EVENT_NAMES)],
    result: [
      'Result',
      [
        ['ok', 'Done'],
        ['refused', 'Refused'],
      ],
    ],
    provider: ['Provider', providers.map(({ name, label }) => [name, label])],
  } as const;
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label className="wide">
        User
        <input
          type="search"
          value={user}
          onChange={({ target }) => setUser(target.value)}
          placeholder="Id of a user"
          maxLength={64}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      {Object.entries(choices).map(([name, [label, options]]) => (
        <label key={name}>
          {label}
          <select value={filters.get(name) ?? ''} onChange={({ target }) => setFilter(name, target.value)}>
            <option value="">Any</option>
            {options.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      ))}
      {(['since', 'until'] as const).map((name) => (
        <label key={name} className="date">
          {name === 'since' ? 'From' : 'Until'}
          <input
            type="datetime-local"
            value={toLocal(filters.get(name))}
            onChange={({ target }) => setFilter(name, target.value && new Date(target.value).toISOString())}
          />
        </label>
      ))}
    </form>
  );
}

/** A time as the field has it: local, to the minute. */
function toLocal(time: string | null): string {
  const at = new Date(time ?? '');
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
