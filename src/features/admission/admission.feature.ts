import type { Feature } from '../../extensions.js';

export const admission: Feature = {
  name: 'admission',
  isOn: ({ admissionUrl }) => admissionUrl !== undefined,
  impersonalReason: 'admission', // the words of the operator's own service are for the operator
  module: async () => ({ module: (await import('./admission.module.js')).AdmissionModule }),
};
