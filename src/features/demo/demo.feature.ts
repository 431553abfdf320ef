import type { Feature } from '../../extensions.js';

export const demo: Feature = {
  name: 'demo',
  isOn: ({ demoEnabled }) => demoEnabled,
  home: 'a page to try it on',
  module: async () => ({ module: (await import('./demo.controller.js')).DemoModule }),
};
