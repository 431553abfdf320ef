import type { Feature } from '../../feature.js';

export const admission: Feature = {
  reasons: {
    admission: {
      means: 'The admission service of this application refuses the account.',
      say: 'The application does not admit your account. I pass it on to its team.',
    },
  },
};
