import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageOf, ROOT } from './places.js';
import { SECTIONS } from './sidebar.js';

/** More would not be read at once. */
const MAX_BYTES = 1_000_000;

/** The navigation as a list (https://llmstxt.org), and the pages that it names in one text, for language models. */
export function forModels(): { readonly list: string; readonly full: string } {
  const head =
    '# Latchkey\n\n> A sign-in service: OAuth 2.0 against your identity provider, its own tokens, a session for each device.\n';
  const sections = SECTIONS.map(([section, entries]) => {
    const links = entries.map(([text, file]) => `- [${text}](${pageOf(file).replace(/\.md$/, '.html')})\n`);
    return `\n## ${section}\n\n${links.join('')}`;
  });
  const files = SECTIONS.flatMap(([, entries]) => entries.map(([, file]) => file));
  const pages = files.map((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8').replace(/^---\n.*?\n---\n/s, '');
    return `\n<!-- ${file} -->\n\n${text.trim()}\n`;
  });
  const full = head + pages.join('');
  if (Buffer.byteLength(full) > MAX_BYTES) throw new Error('llms-full.txt is larger than 1 MB');
  return { list: head + sections.join(''), full };
}

export function writeForModels(folder: string): void {
  const { list, full } = forModels();
  writeFileSync(join(folder, 'llms.txt'), list);
  writeFileSync(join(folder, 'llms-full.txt'), full);
}
