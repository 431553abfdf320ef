import { useState, type ReactNode } from 'react';
import { useProviders } from '../api/use-providers.js';
import { ERROR_CODES } from './error-texts.js';
import { EVENT_NAMES } from './event-names.js';
import { Find } from './find.js';

interface FiltersProps {
  readonly filters: Readonly<URLSearchParams>;
  readonly setFilter: (name: string, value: string) => void;
}

const RESULTS = [
  ['ok', 'Done'],
  ['refused', 'Refused'],
] as const;
const FIRST_USES = [
  ['new_device', 'New device'],
  ['new_network', 'New network'],
] as const;

/** The fields above the trail; the less common ones are hidden at first. */
export function Filters({ filters, setFilter, children }: FiltersProps & { children: ReactNode }): ReactNode {
  const [hasMore, setMore] = useState(false);
  const providers = useProviders();
  const choice = (
    name: string,
    label: string,
    options: readonly (readonly [string, string])[],
  ): ReactNode => (
    <Choice
      label={label}
      options={options}
      value={filters.get(name) ?? ''}
      choose={(value) => setFilter(name, value)}
    />
  );
  return (
    <div className="filters">
      <Find setFilter={setFilter} />
      {choice('event', 'Event', Object.entries(EVENT_NAMES))}
      {choice('result', 'Result', RESULTS)}
      {choice(
        'provider',
        'Provider',
        providers.map(({ name, label }) => [name, label]),
      )}
      <Time name="since" label="From" filters={filters} setFilter={setFilter} />
      <Time name="until" label="Until" filters={filters} setFilter={setFilter} />
      {hasMore && (
        <>
          {choice(
            'error',
            'Error',
            ERROR_CODES.map((code) => [code, code]),
          )}
          {FIRST_USES.map(([name, label]) => (
            <Choice
              key={name}
              label={label}
              options={[['true', 'Only these']]}
              value={filters.get(name) ?? ''}
              choose={(value) => setFilter(name, value)}
            />
          ))}
        </>
      )}
      <div className="chips">
        {children}
        <button type="button" className="link" aria-expanded={hasMore} onClick={() => setMore(!hasMore)}>
          {hasMore ? 'Fewer filters' : 'More filters'}
        </button>
      </div>
    </div>
  );
}

function Choice({
  label,
  options,
  value,
  choose,
}: {
  label: string;
  options: readonly (readonly [string, string])[];
  value: string;
  choose: (value: string) => void;
}): ReactNode {
  const isListed = value === '' || options.some(([one]) => one === value);
  return (
    <label>
      {label}
      <select value={value} onChange={({ target }) => choose(target.value)}>
        <option value="">Any</option>
        {!isListed && <option>{value}</option>}
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Time({
  name,
  label,
  filters,
  setFilter,
}: FiltersProps & { name: 'since' | 'until'; label: string }): ReactNode {
  return (
    <label className="date">
      {label}
      <input
        type="datetime-local"
        value={toLocal(filters.get(name))}
        onChange={({ target }) => setFilter(name, target.value && new Date(target.value).toISOString())}
      />
    </label>
  );
}

/** A time as the field has it: local, to the minute. */
function toLocal(time: string | null): string {
  const at = new Date(time ?? '');
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
