import type { Feature } from '../../extensions.js';

export const administration: Feature = {
  name: 'administration',
  isOn: () => true, // `/users`, also without the page
  module: async (settings) =>
    (await import('./administration.module.js')).AdministrationModule.forRoot(settings),
};
