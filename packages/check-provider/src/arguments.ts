import { parseArgs } from 'node:util';
import { CannotRun } from './cannot-run.js';

/** What to check, and how. */
export interface Options {
  /** Base address of the provider, without a slash at its end (spec §4.5). */
  readonly providerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A callback elsewhere: a person pastes the address at which the browser ends. Unset: a loopback callback. */
  readonly redirectUri: string | undefined;
  readonly json: boolean;
  /** Whether to wait until a code must have expired. */
  readonly slow: boolean;
  /** Seconds that a person may take for one sign-in. */
  readonly wait: number;
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
    redirectUri: redirectUri(values['redirect-uri']),
    json: values.json,
    slow: values.slow,
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
