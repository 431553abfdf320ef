import type { ReactNode } from 'react';
import useSWR from 'swr';
import type { ApiError } from '../api/api.js';
import { useMayChange } from '../api/session.js';
import type { Provider } from '../api/types.js';
import { FEATURES } from '../features.js';
import { Copyable } from '../parts/copy.js';
import { Facts } from '../parts/facts.js';
import { Heading } from '../parts/heading.js';
import { Empty, Failure, Loading } from '../parts/states.js';
import { Allow } from './allow.js';
import { TestSignIn } from './test-sign-in.js';

const MODES: Readonly<Record<string, string>> = {
  iframe: 'In a frame of the dialog',
  popup: 'In a window',
  redirect: 'In the same tab',
};

/** The enabled identity providers: what to register there, and a test. */
export function Providers(): ReactNode {
  const { data, error, mutate } = useSWR<{ providers: Provider[] }, ApiError>('/admin/providers');
  const mayTest = useMayChange();
  return (
    <>
      <Heading title="Providers" />
      {error && <Failure error={error} retry={() => void mutate()} />}
      {!data && !error && (
        <section className="card">
          <Loading what="providers" />
        </section>
      )}
      {data?.providers.length === 0 && (
        <section className="card">
          <Empty>No provider is enabled. The settings of the service name them.</Empty>
        </section>
      )}
      {data?.providers.map((provider) => (
        <section key={provider.name} className="card provider" aria-labelledby={`provider-${provider.name}`}>
          <div className="head">
            <h2 id={`provider-${provider.name}`}>
              <bdi>{provider.label}</bdi>
            </h2>
            {provider.is_sample && <span className="tag">Built in</span>}
          </div>
          <div className="halves">
            <Facts
              rows={[
                ['Name', <code key="">{provider.name}</code>],
                ['Adapter', <code key="">{provider.adapter}</code>],
                ['Address', provider.url && <code>{provider.url}</code>],
                ['Sign-in page', MODES[provider.mode] ?? provider.mode],
                ['Admits', <Allow key="" rule={provider.allow} />],
              ]}
            />
            <div>
              <h3>Redirect URIs to register there</h3>
              {provider.is_sample && <p className="hint">None: this provider belongs to the service.</p>}
              {!provider.is_sample && (
                <ul className="uris">
                  {provider.redirect_uris.map((uri) => (
                    <li key={uri}>
                      <Copyable value={uri} what={uri} />
                    </li>
                  ))}
                </ul>
              )}
            </div>
          </div>
          {FEATURES.map(({ OfProvider }, i) => OfProvider && <OfProvider key={i} provider={provider} />)}
          {mayTest && <TestSignIn provider={provider} />}
        </section>
      ))}
    </>
  );
}
