import type { Feature } from '../../extensions.js';

export const forwardAuth: Feature = {
  name: 'forward-auth',
  isOn: () => true,
  module: async () => ({ module: (await import('./forward-auth.module.js')).ForwardAuthModule }),
};
