import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Hour } from '../api/types.js';
import { trailOf } from '../audit/filter-names.js';
import { formatNumber, LOCALE } from '../parts/locale.js';
import { columnsOf, Table } from '../parts/table.js';
import { hourText, withinHour } from './hour-text.js';

const time = new Intl.DateTimeFormat(LOCALE, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

const COLUMNS = columnsOf<Hour>([
  {
    id: 'hour',
    title: 'Hour from',
    cell: ({ hour }) => <time dateTime={hour}>{time.format(new Date(hour))}</time>,
  },
  {
    id: 'sign_ins',
    title: 'Sign-ins',
    cell: ({ hour, sign_ins }) => <Count hour={hour} event="sign_in" value={sign_ins} />,
  },
  {
    id: 'refusals',
    title: 'Refused',
    cell: ({ hour, refusals }) => <Count hour={hour} event="sign_in_refused" value={refusals} />,
  },
]);

/** The figures of the chart as a table, newest first. */
export function Figures({ hours }: { hours: readonly Hour[] }): ReactNode {
  return (
    <details className="figures">
      <summary>Figures as a table</summary>
      <div className="scroll" tabIndex={0} role="region" aria-label="Figures">
        <Table
          label="Sign-ins and refusals per hour"
          columns={COLUMNS}
          rows={hours.toReversed()}
          keyOf={({ hour }) => hour}
        />
      </div>
    </details>
  );
}

/** A number of the table, a link to its events. */
function Count({ hour, event, value }: { hour: string; event: string; value: number | null }): ReactNode {
  if (value === null) return 'not counted yet';
  if (value === 0) return 0;
  const what = event === 'sign_in' ? 'sign-ins' : 'refused';
  return (
    <Link
      href={trailOf({ event, ...withinHour(hour) })}
      aria-label={`${formatNumber(value)} ${what}, ${hourText(hour)}`}
    >
      {formatNumber(value)}
    </Link>
  );
}
