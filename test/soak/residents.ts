import { DEVICES } from './clients/people.js';
import { SAMPLE_ACCOUNTS } from './sample-accounts.js';

/** Rows of those who are not removed: at most so many are left when all newcomers have gone. */
export interface Residents {
  readonly users: number;
  readonly devices: number;
}

/** @param users people of each kind: with several devices, with a stock client, at the provider of OpenID Connect */
export function residentsOf(users: number): Residents {
  const withOneDevice = 2 * users + SAMPLE_ACCOUNTS + 1; // the one who renames too often
  return { users: users + withOneDevice, devices: users * DEVICES + withOneDevice };
}
