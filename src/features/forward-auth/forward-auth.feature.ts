import type { Feature } from '../../extensions.js';

export const forwardAuth: Feature = {
  name: 'forward-auth',
  isOn: () => true,
  middleware: async () => (await import('./unify-forwarded.js')).unifyForwarded,
  module: async () => ({ module: (await import('./forward-auth.module.js')).ForwardAuthModule }),
};
