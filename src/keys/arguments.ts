import { parseArgs } from 'node:util';

export type Command =
  | { readonly name: 'list'; readonly json: boolean }
  | { readonly name: 'rotate' }
  | { readonly name: 'revoke'; readonly kid: string }
  | { readonly name: 'reencrypt' };

export const USAGE = `Usage: latchkey keys <command>

  list [--json]   the signing keys: their states and times
  rotate          make the next key: published at once, in use ten minutes later
  revoke <kid>    withdraw a key: within a second its tokens are refused
  reencrypt       after SECRET_KEY was changed; the former one is in OLD_SECRET_KEY or OLD_SECRET_KEY_FILE

Settings are those of the service: the environment, or .env. See docs/keys.md.
`;

/** The command that the arguments ask for, or undefined when they make no sense. */
export function parseArguments(args: readonly string[]): Command | 'help' | undefined {
  const { values, positionals } = read(args) ?? { values: {}, positionals: [] };
  const [name, ...rest] = positionals;
  if (values.help) return 'help';
  if (name === 'list' && rest.length === 0) return { name, json: values.json ?? false };
  if (values.json) return undefined;
  if ((name === 'rotate' || name === 'reencrypt') && rest.length === 0) return { name };
  const [kid] = rest;
  return name === 'revoke' && kid && rest.length === 1 ? { name, kid } : undefined;
}

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    });
  } catch {
    return undefined; // an unknown option
  }
}
