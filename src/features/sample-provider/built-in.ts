import { resolve } from 'node:path';
import { text } from '../../platform/config/settings/parsers.js';
import type { BuiltInProvider } from '../../platform/config/settings/settings-part.js';

const keys = {
  accounts: {
    parser: text,
    doc: 'A JSON file of accounts `[{provider_user_id, login, password_hash, username?, email?, avatar_url?}]` (docs/providers.md#accounts-of-the-sample-provider). Unset: demo accounts; required in production.',
  },
};

declare module '../../platform/config/providers/provider-settings.js' {
  interface ProviderSettings {
    /** Accounts of the sample provider, with hashes of passwords; unset: the demo accounts. */
    readonly accountsFile?: SecretFile;
  }
}

/** The sample provider (spec §4.6). */
export const builtIn: BuiltInProvider = {
  name: 'mock',
  keys,
  options: { claims: 'roles=claims.roles' }, // of the demo accounts
  read(source) {
    const { production, cwd } = source.surroundings;
    const accounts = source.text('accounts');
    if (accounts !== undefined) {
      return { accountsFile: { path: resolve(cwd, accounts), variable: source.variableOf('accounts') } };
    }
    if (production) {
      const use = 'a JSON file of accounts, because the built-in sample provider is enabled in production';
      source.refuseUnset('accounts', use);
    }
    return {};
  },
  complete(read, { host, port, publicUrl, secretKey }) {
    const path = `/providers/${read.name}`;
    return {
      ...read,
      label: read.label ?? 'Sample provider',
      authTime: 'sign_in', // its page asks for the password each time
      url: `${publicUrl}${path}`,
      internalUrl: `http://${reachable(host)}:${port}${path}`,
      clientId: 'latchkey',
      clientSecret: secretKey.derive('sample-provider').toString('hex'),
    };
  },
};

/** Host by which the service can call itself. */
function reachable(host: string): string {
  const anywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = anywhere[host] ?? host;
  return address.includes(':') ? `[${address}]` : address;
}
