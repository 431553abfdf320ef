import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Settings } from '../config/settings/settings.js';
import { PACKAGE_ROOT } from '../http/package-root.js';

/** Somebody who can sign in, and whose password may be shown. */
export interface KnownAccount {
  readonly login: string;
  readonly password: string;
}

/** Where to read on; the installed package has not all of them. */
const DOCUMENTS = [
  ['docs/quick-start.md', 'from here to a sign-in on your own page'],
  ['examples/react', 'a React application with an API of its own'],
  ['docs/providers.md', 'your own identity provider'],
] as const;

/**
 * What somebody reads who has started it to try it out: where to go, whom to be, what to read, how to stop. Its first line is
 * that of the log in production.
 *
 * @param accounts of the sample provider, where it is on and has the demo accounts
 * @param isColoured whether the terminal shows colours
 */
export function welcome(
  { publicUrl, demoEnabled }: Pick<Settings, 'publicUrl' | 'demoEnabled'>,
  accounts: readonly KnownAccount[],
  isColoured: boolean,
): string {
  const bold = (text: string): string => (isColoured ? styleText('bold', text) : text);
  const lines = [
    ...(demoEnabled ? [[publicUrl, 'a page to try it on']] : []),
    [`${publicUrl}/docs`, 'every call, with examples'],
    ...DOCUMENTS.filter(([path]) => existsSync(join(PACKAGE_ROOT, path))),
  ] as const;
  const width = Math.max(...lines.map(([place = '']) => place.length));
  const logins = accounts.map(({ login, password }) => `${login} / ${password}`);
  return [
    '',
    bold(`  Latchkey is ready: ${publicUrl}`),
    '',
    ...lines.map(([place = '', what]) => `  ${place.padEnd(width)}  ${what}`),
    '',
    ...(logins.length > 0 ? [`  Demo accounts: ${logins.join(', ')}`] : []),
    '  Ctrl-C stops it.',
    '',
    '',
  ].join('\n');
}
