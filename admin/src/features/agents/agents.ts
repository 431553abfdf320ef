import type { Feature } from '../../feature.js';
import { ProgramsOfUser } from './programs-of-user.js';
import { Programs } from './programs.js';

export const agents: Feature = {
  events: {
    agent_allowed: 'Program allowed',
    agent_refused: 'Program not allowed',
  },
  OfOverview: Programs,
  // An ended one acts no more: it is among the signed-out devices.
  deviceList: { has: ({ agent, signed_in }) => agent !== undefined && signed_in, List: ProgramsOfUser },
};
