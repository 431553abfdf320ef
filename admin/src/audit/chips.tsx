import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { AuditEvent } from '../api/types.js';
import { CHIPS } from './filter-names.js';

/** The filters that have no field, each with a button that removes it. */
export function Chips({
  filters,
  setFilter,
  events,
}: {
  filters: Readonly<URLSearchParams>;
  setFilter: (name: string, value: string) => void;
  events: readonly AuditEvent[];
}): ReactNode {
  const set = Object.entries(CHIPS).filter(([name]) => filters.get(name));
  if (set.length === 0) return null;
  return (
    <ul className="chips" aria-label="Filters that are set">
      {set.map(([name, label]) => (
        <li key={name}>
          <button type="button" className="button small" onClick={() => setFilter(name, '')}>
            <span className="visually-hidden">Remove the filter </span>
            {label} <Shown name={name} value={filters.get(name)!} events={events} />
            <span aria-hidden="true"> ×</span>
          </button>
        </li>
      ))}
      <li>
        <Link href="/audit">Remove all filters</Link>
      </li>
    </ul>
  );
}

/** The value; of a user and a device the name, if an event has it. */
function Shown({
  name,
  value,
  events,
}: {
  name: string;
  value: string;
  events: readonly AuditEvent[];
}): ReactNode {
  if (value === 'true') return null;
  const userName = name === 'user_id' && events.find(({ user_id }) => user_id === value)?.user_name;
  const deviceName = name === 'device_id' && events.find(({ device_id }) => device_id === value)?.device_name;
  const known = userName || deviceName;
  return known ? <bdi title={value}>{known}</bdi> : <code>{value}</code>;
}
