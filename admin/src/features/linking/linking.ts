import type { Feature } from '../../feature.js';

export const linking: Feature = {
  events: {
    identity_linked: 'Identity joined',
    identity_unlinked: 'Identity parted',
    user_merged: 'User merged',
  },
  causes: {
    merged: 'The user is part of another one now',
    unlinked: 'The identity was parted from the user',
  },
};
