import type { Feature } from '../../feature.js';

export const deviceGrant: Feature = {
  events: {
    device_requested: 'Device asked to be signed in',
    device_approved: 'Device approved',
    device_denied: 'Device denied',
  },
};
