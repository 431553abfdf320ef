import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { envExample, settingsPage } from './document-settings.js';

/** `npm run docs`: writes what is generated from the settings' table; with `--check`, only compares. */

const read = (file: URL): string => readFileSync(file, 'utf8');
const path = (name: string): URL => new URL(`../../../${name}`, import.meta.url);

const wanted = [
  { file: path('.env.example'), text: envExample() },
  { file: path('docs/settings.md'), text: settingsPage() },
];

const check = process.argv.includes('--check');
for (const { file, text } of wanted) {
  if (!check) {
    writeFileSync(file, text);
  } else if (!existsSync(file) || read(file) !== text) {
    process.stderr.write(`${fileURLToPath(file)} does not match the settings: run \`npm run docs\`\n`);
    process.exitCode = 1;
  }
}
