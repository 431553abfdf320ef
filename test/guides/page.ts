import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'dotenv';
import MarkdownIt from 'markdown-it';
import { ROOT } from '../../docs/.vitepress/places.js';

/** What the reader of a page does next. */
export type Step =
  | { readonly does: 'run'; readonly commands: readonly string[]; readonly output: readonly string[] }
  | { readonly does: 'write'; readonly file: string; readonly text: string }
  | { readonly does: 'change'; readonly file: string; readonly changes: readonly Change[] }
  | { readonly does: 'open' | 'press' | 'see' | 'stop'; readonly what: string }
  | { readonly does: 'sign in'; readonly login: string; readonly password: string };

/** Lines of a file that are replaced. */
interface Change {
  readonly from: string;
  readonly to: string;
}

/** First line of a block that is a file: `// app/[id]/page.tsx`, `<!-- src/routes/+page.svelte -->`, `# .env.local`, `-- accounts.sql`. */
const FILE = /^(?:\/\/|#|--|<!--) ([\w./+[\]-]*\.\w+)(?: -->)?\n/;

/** Instructions in the text of a page. */
const INSTRUCTION =
  /\bopen\b[^<.]*<(?<open>http[^>]+)>|\bpress _(?<press>[^_]+)_|\baccount `(?<login>[^`]+)` with `(?<password>[^`]+)`|\bshows? _(?<see>[^_]+)_|(?<stop>Ctrl-C)/gi;

/** Returns the steps of a page in its order: its shell blocks, its files, and the instructions in its text. */
export function stepsOf(page: string): Step[] {
  return stepsIn(readFileSync(join(ROOT, page), 'utf8'));
}

export function stepsIn(markdown: string): Step[] {
  return new MarkdownIt({ html: true }).parse(markdown, {}).flatMap(({ type, info, content }): Step[] => {
    if (type === 'inline') return instructionsIn(content);
    if (type !== 'fence') return [];
    if (info === 'diff') return [changeIn(content)];
    const [line, file] = FILE.exec(content) ?? [];
    if (file !== undefined) return [{ does: 'write', file, text: content.slice(line!.length) }];
    return info === 'sh' ? [commandsIn(content)] : [];
  });
}

function instructionsIn(text: string): Step[] {
  return [...text.replaceAll(/\s+/g, ' ').matchAll(INSTRUCTION)].map(({ groups = {} }): Step => {
    const { login, password } = groups;
    if (login !== undefined) return { does: 'sign in', login, password: password! };
    const [does, what] = Object.entries(groups).find(([, value]) => value !== undefined)!;
    return { does: does as 'open', what };
  });
}

/** A line that begins with `# ` shows output of the commands before it; `…` stands for any text. */
function commandsIn(block: string): Step {
  const lines = block.replaceAll('\\\n', ' ').trim().split('\n');
  const isOutput = (line: string): boolean => line.startsWith('# ');
  return {
    does: 'run',
    commands: lines.filter((line) => !isOutput(line) && line !== ''),
    output: lines.filter(isOutput).map((line) => line.slice(2)),
  };
}

/** A block that begins with `--- server.js`; `@@` separates its parts. */
function changeIn(block: string): Step {
  const [head, ...lines] = block.split(/(?<=\n)/);
  const parts = lines.join('').split(/^@@\n/m);
  const without = (part: string, sign: string): string =>
    [...part.matchAll(/^([ +-]?)(.*\n)/gm)]
      .filter(([, kind]) => kind !== sign)
      .map(([, , line]) => line)
      .join('');
  const changes = parts.map((part) => ({ from: without(part, '+'), to: without(part, '-') }));
  return { does: 'change', file: head!.replace(/^--- /, '').trim(), changes };
}

/** What a heading of a page has. */
export interface Section {
  /** Its blocks of `.env`, as the service reads them. */
  readonly env: Readonly<Record<string, string>>;
  /** Its blocks of JavaScript. */
  readonly scripts: readonly string[];
  /** Everything, as it is written. */
  readonly text: string;
}

/** Returns the sections of a page by their headings of the first and the second rank. */
export function sectionsOf(page: string): Map<string, Section> {
  const [, ...parts] = readFileSync(join(ROOT, page), 'utf8').split(/^##? (?=[A-Z])/m);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), sectionIn(part)]));
}

function sectionIn(text: string): Section {
  const blocks = new MarkdownIt().parse(text, {}).filter(({ type }) => type === 'fence');
  const of = (language: string): string[] =>
    blocks.filter(({ info }) => info === language).map(({ content }) => content);
  return { env: parse(of('dotenv').join('')), scripts: of('js'), text };
}
