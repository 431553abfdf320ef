import type { ReactNode } from 'react';
import type { Hour } from '../api/types.js';
import { formatNumber, LOCALE } from '../parts/locale.js';
import { columnsOf, Table } from '../parts/table.js';

const time = new Intl.DateTimeFormat(LOCALE, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const count = (value: number | null): string => (value === null ? 'not counted yet' : formatNumber(value));

const COLUMNS = columnsOf<Hour>([
  {
    id: 'hour',
    title: 'Hour from',
    cell: ({ hour }) => <time dateTime={hour}>{time.format(new Date(hour))}</time>,
  },
  { id: 'sign_ins', title: 'Sign-ins', cell: ({ sign_ins }) => count(sign_ins) },
  { id: 'refusals', title: 'Refused', cell: ({ refusals }) => count(refusals) },
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
