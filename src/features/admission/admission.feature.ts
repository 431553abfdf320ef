import type { Feature } from '../../extensions.js';

export const admission: Feature = {
  name: 'admission',
  isOn: ({ admissionUrl }) => admissionUrl !== undefined,
  module: async () => ({ module: (await import('./admission.module.js')).AdmissionModule }),
};
