import type { Settings } from '../../platform/config/settings/settings.js';
import { ERROR_STATUS } from '../../platform/errors/oauth-error.js';
import type { Events } from '../../platform/events.js';
import type { Meter } from './meter.js';

/** Seconds; a provider has 5 in all (docs/security.md#providers). */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Label of an unknown provider, or of one that is no longer configured. */
const NO_PROVIDER = 'none';

/** Values of the label `reason`: a client may report any error of a callback (RFC 6749 §4.1.2.1). */
const REASONS = new Set<string>([
  ...Object.keys(ERROR_STATUS),
  'cancelled',
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'invalid_scope',
  'login_required',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_response_type',
]);

/** Registers metrics of sign-ins, refreshes, sign-outs, rate limits and calls of providers. */
export function signInMetrics(meter: Meter, events: Events, settings: Settings): void {
  const providers = new Set(settings.providers.keys());
  const known = (name = NO_PROVIDER): string => (providers.has(name) ? name : NO_PROVIDER);

  const signIns = meter.counter('latchkey_sign_ins_total', 'Sign-ins, by provider.', 'provider');
  // a rate needs a value before the first sign-in
  for (const provider of providers) signIns.inc({ provider }, 0);
  const refused = meter.counter(
    'latchkey_sign_ins_refused_total',
    'Sign-ins that were refused, by provider (none: not known yet) and error.',
    'provider',
    'reason',
  );
  const refreshes = meter.counter(
    'latchkey_refreshes_refused_total',
    'Refreshes that were refused, by error.',
    'reason',
  );
  const signedOut = meter.counter(
    'latchkey_sessions_signed_out_total',
    'Sessions that were signed out by this instance, by who asked for it: user, service_key or provider.',
    'by',
  );
  const limits = meter.counter(
    'latchkey_rate_limits_exceeded_total',
    'Addresses and users that have reached a limit; each counts once a minute.',
    'limit',
  );
  const calls = meter.histogram(
    'latchkey_provider_request_duration_seconds',
    'What a provider was asked for (authorize and issuer, which seldom need a request; exchange; refresh; or logout), by outcome: ok, or the error that it was mapped to.',
    BUCKETS,
    'provider',
    'operation',
    'outcome',
  );

  const recordings = meter.counter(
    'latchkey_audit_events_total',
    'Events of the audit trail that this instance recorded, by name.',
    'event',
  );

  events.on('audit.recorded', (recorded) => {
    for (const { event, provider: name, error: reason = 'other', actor } of recorded) {
      const provider = known(name);
      recordings.inc({ event });
      if (event === 'sign_in') signIns.inc({ provider });
      if (event === 'sign_in_refused')
        refused.inc({ provider, reason: REASONS.has(reason) ? reason : 'other' });
      if (event === 'refresh_refused') refreshes.inc({ reason });
      if (event === 'sign_out' || event === 'session_lost') signedOut.inc({ by: actor.type });
    }
  });
  events.on('rate_limit.exceeded', ({ limit }) => limits.inc({ limit }));
  events.on('provider.called', ({ provider, operation, error: outcome = 'ok', seconds }) =>
    calls.observe({ provider: known(provider), operation, outcome }, seconds),
  );
}
