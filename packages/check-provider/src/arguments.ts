import { parseArgs } from 'node:util';
import { CannotRun } from './cannot-run.js';

/** How a person signs in, and how the report is printed. */
export interface SignInOptions {
  /** A callback elsewhere: a person pastes the address at which the browser ends. Unset: a loopback callback. */
  readonly redirectUri: string | undefined;
  readonly json: boolean;
  /** Seconds that a person may take for one sign-in. */
  readonly wait: number;
}

/** What to check, and how. */
export interface Options extends SignInOptions {
  /** Base address of the provider, without a slash at its end (spec §4.5). */
  readonly providerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether to wait until a code must have expired. */
  readonly slow: boolean;
}

/** A provider that the service has in its settings. */
export interface NamedOptions extends SignInOptions {
  readonly name: string;
}

/** Says in one line what is wrong with the command line; never with a value from it. */
export class WrongArguments extends CannotRun {}

/**
 * Reads the command line, without the command's name.
 * @throws WrongArguments
 */
export function parseArguments(argv: readonly string[]): Options | 'help' {
  const { values, positionals } = parsed(argv);
  if (values.help) return 'help';
  const [url, ...others] = positionals;
  if (url === undefined || others.length > 0) throw new WrongArguments('name one provider by its URL');
  return {
    providerUrl: providerUrl(url),
    clientId: values['client-id'] || missing('--client-id'),
    clientSecret: values['client-secret'] || missing('--client-secret'),
    slow: values.slow,
    ...signInOptions(values),
  };
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/**
 * Reads a command line with the name of a configured provider instead of a URL.
 * @returns undefined for any other command line
 * @throws WrongArguments
 */
export function parseNamed(argv: readonly string[]): NamedOptions | undefined {
  const { values, positionals } = parsed(argv);
  const [name = '', ...others] = positionals;
  const isNamed = NAME.test(name) && others.length === 0 && values['client-id'] === undefined;
  return isNamed && !values.help ? { name, ...signInOptions(values) } : undefined;
}

function signInOptions(values: ReturnType<typeof parsed>['values']): SignInOptions {
  return {
    redirectUri: redirectUri(values['redirect-uri']),
    json: values.json,
    wait: seconds(values.wait),
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        'client-id': { type: 'string' },
        'client-secret': { type: 'string' },
        'redirect-uri': { type: 'string' },
        json: { type: 'boolean', default: false },
        slow: { type: 'boolean', default: false },
        wait: { type: 'string', default: '600' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new WrongArguments((error as Error).message); // names options, never their values
  }
}

function providerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new WrongArguments('the provider URL must begin with http:// or https://');
  if (/[?#]/.test(text) || url.username || url.password) {
    throw new WrongArguments('the provider URL must be without query, fragment and user info'); // paths are appended to it
  }
  return text.replace(/\/$/, '');
}

function redirectUri(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(text) || text.includes('#')) {
    throw new WrongArguments('--redirect-uri must be an absolute URI without a fragment'); // RFC 6749 §3.1.2
  }
  return text;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 86_400)
    throw new WrongArguments('--wait must be 1 to 86400 seconds');
  return value;
}

function missing(option: string): never {
  throw new WrongArguments(`${option} is missing`);
}
