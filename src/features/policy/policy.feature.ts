import type { Feature } from '../../extensions.js';

export const policy: Feature = {
  name: 'policy',
  isOn: ({ providers, sampleProvider, maxSessions }) =>
    maxSessions !== undefined || [...providers.values(), sampleProvider?.provider].some((one) => one?.allow),
  endsEarly: ({ maxSessions }) => maxSessions !== undefined,
  module: async () => ({ module: (await import('./policy.module.js')).PolicyModule }),
};
