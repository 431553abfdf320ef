import type { Device } from './api/types.js';
import type { Feature } from './feature.js';
import { admission } from './features/admission/admission.js';
import { agents } from './features/agents/agents.js';
import { deviceGrant } from './features/device-grant/device-grant.js';
import { linking } from './features/linking/linking.js';
import { providerEvents } from './features/provider-events/provider-events.js';
import { scim } from './features/scim/scim.js';

/** All features that show something. No other file imports one. */
export const FEATURES: readonly Feature[] = [admission, agents, deviceGrant, linking, providerEvents, scim];

type Listed = 'events' | 'causes' | 'actors' | 'sources' | 'conditions' | 'reasons';

/** Returns the texts of one kind of all features. */
export function textsOf<Kind extends Listed>(kind: Kind): NonNullable<Feature[Kind]> {
  return Object.assign({}, ...FEATURES.map((feature) => feature[kind])) as NonNullable<Feature[Kind]>;
}

/** Whether a feature lists a device, in place of the list of devices. */
export function isListedByFeature(device: Device): boolean {
  return FEATURES.some(({ deviceList }) => deviceList?.has(device));
}
