import type { ReactNode } from 'react';
import useSWR from 'swr';
import type { ApiError } from '../api/api.js';
import type { Hour, Overview as Numbers, ProviderHealth } from '../api/types.js';
import { FEATURES } from '../features.js';
import { formatNumber } from '../parts/locale.js';
import { Heading } from '../parts/heading.js';
import { Empty, Failure, Loading } from '../parts/states.js';
import { Switch } from '../parts/switch.js';
import { When } from '../parts/text.js';
import { useFilters } from '../parts/use-filters.js';
import { Chart } from './chart.js';
import { Figures } from './figures.js';
import { Refusals } from './refusals.js';

/** Milliseconds after which the numbers are loaded again. */
const REFRESH = 30_000;
const DAY = 24;
const RANGES = [
  ['', '24 hours'],
  ['7d', '7 days'],
] as const;

/** How the service is doing. */
export function Overview(): ReactNode {
  const { data, error, mutate } = useSWR<Numbers, ApiError>('/admin/overview', { refreshInterval: REFRESH });
  return (
    <>
      <Heading title="Overview" />
      {error && <Failure error={error} retry={() => void mutate()} />}
      {!data && !error && (
        <section className="card">
          <Loading what="the overview" lines={8} />
        </section>
      )}
      {data && <Content numbers={data} />}
    </>
  );
}

function Content({ numbers }: { numbers: Numbers }): ReactNode {
  const { hours, users, users_online, live_sessions, providers } = numbers;
  const [filters, setFilter] = useFilters();
  const isWeek = filters.get('range') === '7d';
  const shown = isWeek ? hours : hours.slice(-DAY);
  const lastDay = hours.slice(-DAY);
  return (
    <>
      <dl className="tiles">
        <Tile name="Users online" value={users_online} isLive />
        <Tile name="Live sessions" value={live_sessions} />
        <Tile name="Users" value={users} />
        <Tile name="Sign-ins, 24 h" value={sum(lastDay, 'sign_ins')} />
      </dl>
      <section className="card" aria-labelledby="sign-ins">
        <div className="head">
          <h2 id="sign-ins">Sign-ins</h2>
          <Switch
            name="range"
            legend="Time"
            options={RANGES}
            value={isWeek ? '7d' : ''}
            choose={(value) => setFilter('range', value)}
          />
        </div>
        <Chart hours={shown} isWeek={isWeek} />
        <Figures hours={shown} />
      </section>
      <Refusals />
      <section className="card" aria-labelledby="health">
        <h2 id="health">Providers</h2>
        <p className="hint">The last sign-in with each that worked, and that did not.</p>
        <Health providers={providers} />
      </section>
      {FEATURES.map(({ OfOverview }, i) => OfOverview && <OfOverview key={i} />)}
    </>
  );
}

function sum(hours: readonly Hour[], member: 'sign_ins' | 'refusals'): number {
  return hours.reduce((total, hour) => total + (hour[member] ?? 0), 0);
}

function Tile({ name, value, isLive = false }: { name: string; value: number; isLive?: boolean }): ReactNode {
  return (
    <div className="card tile">
      <dt className={isLive ? 'state good' : ''}>{name}</dt>
      <dd>{formatNumber(value)}</dd>
    </div>
  );
}

function Health({ providers }: { providers: readonly ProviderHealth[] }): ReactNode {
  if (providers.length === 0) return <Empty>No provider is enabled.</Empty>;
  return (
    <ul className="health">
      {providers.map(({ name, label, last_success_at, last_failure_at, last_error }) => (
        <li key={name}>
          <bdi className="strong">{label}</bdi>
          <p>
            <span className={last_success_at ? 'state good' : 'state'}>
              <span className="visually-hidden">Last success: </span>
              <When at={last_success_at} never="No sign-in in 7 days" />
            </span>
            {last_failure_at && (
              <span className="state bad">
                <span className="visually-hidden">Last failure: </span>
                <When at={last_failure_at} /> {last_error && <code>{last_error}</code>}
              </span>
            )}
          </p>
        </li>
      ))}
    </ul>
  );
}
