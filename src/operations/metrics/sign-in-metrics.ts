import { SAMPLE_PROVIDER } from '../../config/providers/enabled-providers.js';
import type { Settings } from '../../config/settings/settings.js';
import type { Events } from '../../events.js';
import { Counter, Histogram, type Registry } from './prom-client.js';

/** Seconds; a provider has 5 in all (contract §3). */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Where no provider is known, or one that is not configured any more. */
const NO_PROVIDER = 'none';
const SUCCESS = 'ok';

/** Who signs in, how providers answer, and what is refused. */
export function signInMetrics(registry: Registry, events: Events, settings: Settings): void {
  const registers = [registry];
  const providers = new Set(settings.providers.keys());
  if (settings.sampleProvider) providers.add(SAMPLE_PROVIDER);
  const known = (name = NO_PROVIDER): string => (providers.has(name) ? name : NO_PROVIDER);

  const signIns = new Counter({
    name: 'latchkey_sign_ins_total',
    help: 'Sign-ins, by provider.',
    labelNames: ['provider'],
    registers,
  });
  for (const provider of providers) signIns.inc({ provider }, 0); // so that a rate is known of the first one as well
  const refused = new Counter({
    name: 'latchkey_sign_ins_refused_total',
    help: 'Sign-ins that failed on the way back, by provider (none: the state was not good) and error.',
    labelNames: ['provider', 'reason'],
    registers,
  });
  const refreshes = new Counter({
    name: 'latchkey_refreshes_refused_total',
    help: 'Refreshes that were refused, by error.',
    labelNames: ['reason'],
    registers,
  });
  const signedOut = new Counter({
    name: 'latchkey_sessions_signed_out_total',
    help: 'Sessions that were signed out by this instance, by who asked for it: user, service_key or provider.',
    labelNames: ['by'],
    registers,
  });
  const limits = new Counter({
    name: 'latchkey_rate_limits_exceeded_total',
    help: 'Addresses and users that have reached a limit; each counts once a minute.',
    labelNames: ['limit'],
    registers,
  });
  const asked = new Histogram({
    name: 'latchkey_provider_request_duration_seconds',
    help: 'What a provider was asked for (authorize and issuer, which seldom need a request; exchange; or logout), by outcome: ok, or the error that it was mapped to.',
    labelNames: ['provider', 'operation', 'outcome'],
    buckets: BUCKETS,
    registers,
  });

  events.on('session.started', ({ provider }) => signIns.inc({ provider: known(provider) }));
  events.on('sign_in.refused', ({ provider, error: reason }) =>
    refused.inc({ provider: known(provider), reason }),
  );
  events.on('refresh.refused', ({ error: reason }) => refreshes.inc({ reason }));
  events.on('sign_out.requested', ({ by = 'user', sessions }) => signedOut.inc({ by }, sessions));
  events.on('provider_logout.obeyed', ({ sessions }) => signedOut.inc({ by: 'provider' }, sessions));
  events.on('rate_limit.exceeded', ({ limit }) => limits.inc({ limit }));
  events.on('provider.asked', ({ provider, operation, error: outcome = SUCCESS, seconds }) =>
    asked.observe({ provider: known(provider), operation, outcome }, seconds),
  );
}
