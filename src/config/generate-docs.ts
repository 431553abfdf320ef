import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { envExample, readmeTables } from './document-settings.js';

/** `npm run docs`: writes what is generated from the settings' table; with `--check`, only compares. */

const START = '<!-- settings:start -->';
const END = '<!-- settings:end -->';

const read = (file: URL): string => readFileSync(file, 'utf8');
const path = (name: string): URL => new URL(`../../${name}`, import.meta.url);

function readme(current: string): string {
  const [before, rest] = current.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`README.md needs the marks ${START} and ${END}`);
  return `${before}${START}\n\n${readmeTables()}\n\n${END}${after}`;
}

const wanted = [
  { file: path('.env.example'), content: () => envExample() },
  { file: path('README.md'), content: (): string => readme(read(path('README.md'))) },
];

const check = process.argv.includes('--check');
for (const { file, content } of wanted) {
  const text = content();
  if (!check) {
    writeFileSync(file, text);
  } else if (read(file) !== text) {
    process.stderr.write(`${fileURLToPath(file)} does not match the settings: run \`npm run docs\`\n`);
    process.exitCode = 1;
  }
}
