import type { Feature } from '../../feature.js';

export const providerEvents: Feature = {
  events: { signal_received: 'Signal received' },
  causes: { signal: 'The identity provider reported a risk' },
  actors: { signal: 'Signal' },
  reasons: {
    signal: {
      means: 'The identity provider has reported that the account is disabled or at risk.',
      say: 'Your provider has locked the account. Please ask the provider, or your own IT.',
    },
  },
};
