import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Mutant {
  readonly id: string;
  readonly folder: string;
  readonly file: string;
  /** Counted from one. */
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

/** What is used of StrykerJS, one of the lab's own packages. */
interface Stryker {
  readonly Instrumenter: new (log: object) => {
    instrument(files: object[], options: object): Promise<{ files: Switched[]; mutants: Found[] }>;
  };
}
type Switched = Readonly<Record<'name' | 'content', string>>;
type Position = Readonly<Record<'line' | 'column', number>>; // from zero
interface Found extends Readonly<Record<'id' | 'fileName' | 'mutatorName' | 'replacement', string>> {
  readonly location: Readonly<Record<'start' | 'end', Position>>;
  readonly status?: 'Ignored';
}
const STRYKER: string = '@stryker-mutator/instrumenter';
const LOG = { isDebugEnabled: () => false, debug() {}, info() {}, warn: console.warn };
/** Texts are left out: most are for people, and SQL without its text fails everywhere. */
const OPTIONS = { plugins: null, excludedMutations: ['StringLiteral'], ignorers: [], noHeader: true };

/** Files of a copy: the id of the active mutant, and the ids that were reached without one. */
export const ACTIVE = 'active';
export const COVERED = 'covered';

/** Instead of Stryker's helpers, which know neither child processes nor the realms of Jest. */
const header = (copy: string): string => `
import { appendFileSync as append_9fa48, readFileSync as read_9fa48 } from 'node:fs';
const active_9fa48 = read_9fa48(${JSON.stringify(join(copy, ACTIVE))}, 'utf8');
const seen_9fa48 = new Set();
function stryMutAct_9fa48(id) { return id === active_9fa48; }
function stryCov_9fa48(...ids) {
  const unseen = active_9fa48 === '' ? ids.filter((id) => !seen_9fa48.has(id)) : [];
  for (const id of unseen) append_9fa48(${JSON.stringify(join(copy, COVERED))}, id + '\\n');
  for (const id of unseen) seen_9fa48.add(id);
}
`;

/**
 * Writes all mutants of some folders into the sources of a copy, each behind a switch. Migrations are left out.
 * @returns the mutants, in an order that depends on the seed and on the text of each alone
 */
export async function instrument(copy: string, folders: readonly string[], seed: number): Promise<Mutant[]> {
  const { Instrumenter } = (await import(STRYKER)) as Stryker;
  const sources = folders.flatMap((folder) =>
    readdirSync(join(copy, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.spec)\.ts$/.test(name) && !name.startsWith('migrations/'))
      .map((name) => ({ folder, name: join(folder, name) }))
      .map((one) => ({ ...one, mutate: true, content: readFileSync(join(copy, one.name), 'utf8') })),
  );
  const { files, mutants } = await new Instrumenter(LOG).instrument(sources, OPTIONS);
  const changed = new Set(mutants.map(({ fileName }) => fileName));
  for (const { name, content } of files) {
    if (changed.has(name)) writeFileSync(join(copy, name), header(copy) + content);
  }
  const times = new Map<string, number>(); // of equal texts in a file
  const wanted = mutants.filter(({ status }) => status !== 'Ignored');
  const ordered = wanted.map(({ id, fileName, mutatorName, replacement, location: { start, end } }) => {
    const { folder, name: file, content } = sources.find(({ name }) => name === fileName)!;
    const before = content.slice(indexOf(content, start), indexOf(content, end));
    const text = JSON.stringify([seed, file, mutatorName, before, replacement]);
    const nth = (times.get(text) ?? 0) + 1;
    times.set(text, nth);
    const order = createHash('sha256').update(`${text} ${nth}`).digest('hex');
    return { id, folder, file, line: start.line + 1, before, after: replacement, order };
  });
  return ordered.toSorted((one, other) => (one.order < other.order ? -1 : 1));
}

function indexOf(content: string, { line, column }: Position): number {
  return content.split('\n', line).reduce((sum, { length }) => sum + length + 1, column);
}
