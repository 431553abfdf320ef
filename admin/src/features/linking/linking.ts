import type { Feature } from '../../feature.js';
import { IdentitiesOfUser } from './identities-of-user.js';

export const linking: Feature = {
  OfUser: IdentitiesOfUser,
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
