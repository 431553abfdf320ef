import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';

/** One change of the sources. */
export interface Mutant {
  /** Under which the instrumented sources know it; another one after each change of a source. */
  readonly id: string;
  /** The same as long as the text that it changes stays: file, mutator, text, replacement, and the how manieth of these. */
  readonly key: string;
  /** From the root of the repository, e.g. `src/token/recent.ts`. */
  readonly file: string;
  readonly line: number;
  /** StrykerJS's name of the kind, e.g. `ConditionalExpression`. */
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
}

const SILENT = {
  isDebugEnabled: () => false,
  debug: () => undefined,
  info: () => undefined,
  warn: (text: string) => void process.stderr.write(`${text}\n`),
};

/**
 * Writes the sources of the rooms with all mutants in them, each behind a switch, into a folder.
 * @param root of the repository
 * @param rooms folders under `src`
 * @param isChosen whether to change a source, named from the root
 */
export async function instrument(
  root: string,
  rooms: readonly string[],
  to: string,
  isChosen: (file: string) => boolean,
): Promise<Mutant[]> {
  const files = rooms
    .flatMap((room) =>
      (readdirSync(join(root, 'src', room), { recursive: true }) as string[]).map((file) =>
        join('src', room, file),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts') && isChosen(file))
    .toSorted();
  const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const instrumenter = new Instrumenter(SILENT as never);
  const result = await instrumenter.instrument(
    files.map((name) => ({ name, mutate: true, content: sources.get(name)! })),
    { plugins: ['decorators-legacy'], excludedMutations: [], ignorers: [] },
  );
  for (const { name, content } of result.files) {
    mkdirSync(dirname(join(to, name)), { recursive: true });
    writeFileSync(join(to, name), forSeveral(content));
  }
  const seen = new Map<string, number>();
  return result.mutants.map(({ id, fileName: file, location, mutatorName: mutator, replacement }) => {
    const lines = sources.get(file)!.split('\n');
    const original = textBetween(lines, location.start, location.end);
    const what = [file, mutator, original, replacement].join('\0');
    const nth = (seen.get(what) ?? 0) + 1;
    seen.set(what, nth);
    const key = createHash('sha256').update(`${what}\0${nth}`).digest('hex').slice(0, 12);
    return { id, key, file, line: location.start.line + 1, mutator, original, replacement };
  });
}

/** StrykerJS has one mutant active at a time; here it is a set, which is told what took effect. */
function forSeveral(content: string): string {
  const several = content.replace(
    'if (ns.activeMutant === id) {',
    'if (ns.activeMutants?.has(id)) { ns.took.add(id);',
  );
  if (several === content && content.includes('ns.activeMutant')) throw new Error('StrykerJS asks otherwise');
  return several;
}

interface Position {
  line: number;
  column: number;
}

function textBetween(lines: readonly string[], start: Position, end: Position): string {
  const picked = lines.slice(start.line, end.line + 1);
  picked[picked.length - 1] = picked.at(-1)!.slice(0, end.column);
  picked[0] = picked[0]!.slice(start.column);
  return picked.join('\n');
}
