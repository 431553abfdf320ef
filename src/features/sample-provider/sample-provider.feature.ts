import type { Feature } from '../../extensions.js';
import { SampleCode } from './sample-code.entity.js';

export const sampleProvider: Feature = {
  name: 'sample-provider',
  isOn: (settings) => settings.sampleProvider !== undefined,
  module: async () => ({ module: (await import('./sample-provider.module.js')).SampleProviderModule }),
  entities: [SampleCode],
};
