import type { Feature } from '../../extensions.js';

/** Without `ADMISSION_URL`, it forgets claims that a re-check would lay over the provider's later. */
export const admission: Feature = {
  name: 'admission',
  isOn: ({ admissionUrl, providers }) =>
    admissionUrl !== undefined || [...providers.values()].some(({ offline }) => offline),
  module: async (settings) => (await import('./admission.module.js')).AdmissionModule.forRoot(settings),
  entities: () => import('./admission-claims.entity.js'),
  migrations: () => import('./migrations/1700000000001-admission.js'),
};
