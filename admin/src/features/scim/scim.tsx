import type { Feature } from '../../feature.js';
import { When } from '../../parts/text.js';
import { Directory } from './directory.js';

declare module '../../api/types.js' {
  interface Provider {
    readonly has_directory: boolean;
  }
  interface TestResult {
    /** What the directory says; null: there is none, or the sign-in failed. */
    readonly directory: 'active' | 'inactive' | 'none' | null;
  }
}

/** Claims that a directory sets in place of the provider (docs/directory.md#groups-and-roles). */
const CLAIMS = ['groups', 'roles'];

/** By what the directory says of the account of a test sign-in. */
const SAYS = {
  active: 'The directory has this account, and it is active.',
  inactive: 'This account may not sign in: the directory has deactivated it.',
  none: 'The directory does not know this account.',
};

export const scim: Feature = {
  events: { directory_changed: 'Directory changed' },
  causes: { directory: 'The directory deactivated the user' },
  actors: { directory: 'Directory' },
  sources: { directory: 'the directory' },
  conditions: { directory: 'the directory does not know the account' },
  reasons: {
    deactivated: {
      means: 'The directory of the provider has deactivated the user.',
      say: 'Your company has deactivated the account. Please ask your own IT.',
    },
    directory: {
      means: 'The account is not active in the directory of the provider.',
      say: 'Your company has not released the account for this application. Please ask your own IT.',
    },
  },
  OfProvider: ({ provider }) => provider.has_directory && <Directory provider={provider} />,
  facts({ directory }) {
    if (!directory) return [];
    const { active, changed_at: at } = directory;
    const state = (
      <>
        {active ? 'Active' : 'Inactive'}, changed <When at={at} isExact />
      </>
    );
    return [['Directory', state]];
  },
  claimSource: ({ directory }, name) =>
    directory && CLAIMS.includes(name) ? 'Provider or its directory' : undefined,
  testNotice: ({ directory }) =>
    directory ? { text: SAYS[directory], isRefused: directory === 'inactive' } : undefined,
};
