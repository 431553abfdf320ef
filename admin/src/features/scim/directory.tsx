import type { ReactNode } from 'react';
import useSWR from 'swr';
import { Link } from 'wouter';
import type { Synchronisation } from '../../../../src/features/scim/activity/synchronisation.dto.js';
import type { ApiError } from '../../api/api.js';
import type { Provider } from '../../api/types.js';
import { Copyable } from '../../parts/copy.js';
import { Facts } from '../../parts/facts.js';
import { formatNumber } from '../../parts/locale.js';
import { Failure, Loading } from '../../parts/states.js';
import { When } from '../../parts/text.js';

/** Milliseconds after which the state is loaded again. */
const REFRESH = 5000;

/** How the synchronisation with the directory of a provider is going. */
export function Directory({ provider: { name } }: { provider: Provider }): ReactNode {
  const path = `/admin/providers/${encodeURIComponent(name)}/directory`;
  const { data, error, mutate } = useSWR<Synchronisation, ApiError>(path, { refreshInterval: REFRESH });
  const id = `directory-${name}`;
  return (
    <section className="part" aria-labelledby={id}>
      <h3 id={id}>Directory</h3>
      {error && <Failure error={error} retry={() => void mutate()} />}
      {!data && !error && <Loading what="the directory" />}
      {data && <State state={data} />}
      <p className="hint">
        <Link href={`/audit?event=directory_changed&provider=${encodeURIComponent(name)}`}>
          Changes in the audit trail
        </Link>
      </p>
    </section>
  );
}

function State({ state }: { state: Synchronisation }): ReactNode {
  const { last_request_at: at, last_request: request, last_error: error } = state;
  return (
    <Facts
      rows={[
        ['Address', <Copyable key="" value={state.url} what="the address for the directory" />],
        [
          'Compares',
          <>
            <code>{state.attribute}</code> with <code>{state.claim}</code>
          </>,
        ],
        [
          'Last request',
          <>
            <When at={at} never="None with the token of this provider" /> {request && <code>{request}</code>}
          </>,
        ],
        ['Users', formatNumber(state.users)],
        ['Groups', formatNumber(state.groups)],
        ['Waiting changes', state.waiting_tasks > 0 ? formatNumber(state.waiting_tasks) : null],
        [
          'Last error',
          error && (
            <>
              <When at={error.at} />: <code>{error.request}</code> was refused with {error.status}{' '}
              {error.scim_type && <code>{error.scim_type}</code>}: {error.detail}
            </>
          ),
        ],
      ]}
    />
  );
}
