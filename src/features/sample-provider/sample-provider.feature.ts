import type { Feature } from '../../extensions.js';
import { builtIn } from './built-in.js';

const HASH_PASSWORD = `Usage: latchkey hash-password

Prints the password_hash of a password, for the file that PROVIDERS_MOCK_ACCOUNTS names. It asks for the password, or reads one
line of standard input. Never an argument: other users of the machine can see those, and the shell's history keeps them.
`;

export const sampleProvider: Feature = {
  name: 'sample-provider',
  builtInProvider: builtIn,
  isOn: ({ providers }) => providers.get(builtIn.name)?.isBuiltIn === true,
  module: async () => ({ module: (await import('./sample-provider.module.js')).SampleProviderModule }),
  entities: () => import('./sample-code.entity.js'),
  migrations: () => import('./migrations/1795824000005-sample-provider.js'),
  commands: {
    'hash-password': {
      about: 'prints the hash of a password, for PROVIDERS_MOCK_ACCOUNTS',
      usage: HASH_PASSWORD,
      run: async () => (await import('./passwords/password-hash.js')).runHashPassword(),
    },
  },
  check: async (settings) => (await import('./accounts/accounts-file.js')).checkAccountsFile(settings),
  async welcome({ providers }) {
    if (providers.get(builtIn.name)?.accountsFile) return [];
    const { demoAccounts } = await import('./accounts/accounts.js');
    const logins = demoAccounts.map(({ login, password }) => `${login} / ${password}`);
    return [`Demo accounts: ${logins.join(', ')}`];
  },
};
