import { useMemo, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { AuditCount } from '../api/types.js';
import { useProviders } from '../api/use-providers.js';
import { explain } from '../audit/error-texts.js';
import { EVENT_NAMES } from '../audit/event-names.js';
import { trailOf, type Filter } from '../audit/filter-names.js';
import { formatNumber } from '../parts/locale.js';
import { columnsOf, Table } from '../parts/table.js';
import { hourText, withinHour } from './hour-text.js';

export type By = 'error' | 'provider' | 'hour' | 'event';
type Filters = Partial<Record<Filter, string>>;

const TITLES: Readonly<Record<By, string>> = {
  error: 'Error',
  provider: 'Provider',
  hour: 'Hour',
  event: 'Event',
};

/** Attempts and people of each error, provider, hour or event; each is a link to its events. */
export function RefusalTable({
  by,
  counts,
  filters,
}: {
  by: By;
  counts: readonly AuditCount[];
  filters: Filters;
}): ReactNode {
  const providers = useProviders();
  const columns = useMemo(
    () =>
      columnsOf<AuditCount>([
        {
          id: 'key',
          title: TITLES[by],
          cell: ({ key }) => (
            <>
              <Link href={trailOf({ ...filters, ...filterOf(by, key, filters.since) })}>
                {textOf(by, key, providers)}
              </Link>
              {by === 'error' && <Advice error={key} />}
            </>
          ),
        },
        { id: 'attempts', title: 'Attempts', cell: ({ attempts }) => formatNumber(attempts) },
        { id: 'people', title: 'People', cell: ({ people }) => formatNumber(people) },
      ]),
    [by, providers, filters],
  );
  return <Table label={`Refused by ${by}`} columns={columns} rows={counts} keyOf={({ key }) => key} />;
}

/** What an error means, and what to say to the person who calls. */
function Advice({ error }: { error: string }): ReactNode {
  const { means, say } = explain(error);
  return (
    <span className="advice">
      <span>{means}</span>
      <span>
        <span className="soft">Tell the caller:</span> <q>{say}</q>
      </span>
    </span>
  );
}

/** `other` stands for all rare keys, which no filter can name. */
function filterOf(by: By, key: string, begin = ''): Filters {
  if (by === 'hour') return { ...withinHour(key), since: key > begin ? key : begin };
  return key === 'other' ? {} : { [by]: key };
}

function textOf(by: By, key: string, providers: ReturnType<typeof useProviders>): ReactNode {
  if (by === 'error') return <code>{key}</code>;
  if (by === 'hour') return hourText(key);
  if (by === 'event') return EVENT_NAMES[key] ?? key;
  return <bdi>{providers.find(({ name }) => name === key)?.label ?? key}</bdi>;
}
