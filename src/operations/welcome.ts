import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Settings } from '../platform/config/settings/settings.js';
import { PACKAGE_ROOT } from '../platform/http/package-root.js';

/** The installed package does not contain all of them. */
const DOCUMENTS = [
  ['docs/quick-start.md', 'from here to a sign-in on your own page'],
  ['examples/react', 'a React application with an API of its own'],
  ['docs/providers.md', 'your own identity provider'],
] as const;

/**
 * Returns the text that ends a start in development.
 * @param home what the page at `/` is for; undefined: there is none
 * @param notes lines of features
 * @param facts what the service uses
 */
export function welcome(
  settings: Pick<Settings, 'publicUrl' | 'generatedServiceKey'>,
  home: string | undefined,
  notes: readonly string[],
  isColoured: boolean,
  facts: string,
): string {
  const { publicUrl, generatedServiceKey } = settings;
  const title = `  Latchkey is ready: ${publicUrl}`;
  const places = [
    ...(home === undefined ? [] : [[publicUrl, home] as const]),
    [`${publicUrl}/docs`, 'every call, with examples'] as const,
    ...DOCUMENTS.filter(([path]) => existsSync(join(PACKAGE_ROOT, path))),
  ];
  const width = Math.max(...places.map(([place]) => place.length));
  return [
    '',
    isColoured ? styleText('bold', title) : title,
    `  ${facts}`,
    '',
    ...places.map(([place, about]) => `  ${place.padEnd(width)}  ${about}`),
    '',
    ...notes.map((note) => `  ${note}`),
    ...(generatedServiceKey === undefined ? [] : [`  Service key, for your own API: ${generatedServiceKey}`]),
    '  Ctrl-C stops it.',
    '',
    '',
  ].join('\n');
}
