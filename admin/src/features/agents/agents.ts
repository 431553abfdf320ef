import type { Feature } from '../../feature.js';

export const agents: Feature = {
  events: {
    agent_allowed: 'Program allowed to act for the user',
    agent_refused: 'Program not allowed',
  },
};
