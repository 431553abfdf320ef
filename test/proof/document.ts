import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Figure } from '../support/proof.js';

/** As the command starts: what is committed while it goes on for an hour was not measured. */
const CODE = codeOf(fileURLToPath(new URL('../../', import.meta.url)));

/** The parts that have figures, in the order in which they came, with the figures of each. */
export function byPart(figures: readonly Figure[]): Map<string, Figure[]> {
  const parts = new Map<string, Figure[]>();
  for (const figure of figures) parts.set(figure.part, [...(parts.get(figure.part) ?? []), figure]);
  return parts;
}

/**
 * Tables in Markdown, one of all rows that have the same headings, after a line that says when and on what it was measured.
 * @param command what to type for the same, e.g. `npm run test:proof -- histories`
 * @param code what was measured, e.g. ` (commit 1a2b3c4)`
 */
export function figureTable(figures: readonly Figure[], command: string, code = CODE): string {
  const processors = cpus();
  const day = new Date().toISOString().slice(0, 10);
  const measured = `Written by \`${command}\` on ${day}${code}: ${processors.length} × ${processors[0]?.model}, Node.js ${process.version}, everything on one machine.`;
  const tables = new Map<string, string[]>();
  for (const { what, figure, wanted = '' } of figures) {
    const columns = typeof figure === 'string' ? { Figure: figure } : figure;
    const headings = line(['What', ...Object.keys(columns), 'Wanted']);
    const row = line([what, ...Object.values(columns), wanted]);
    tables.set(headings, [
      ...(tables.get(headings) ?? [headings, headings.replaceAll(/[^|]+/g, '---')]),
      row,
    ]);
  }
  return [measured, ...[...tables.values()].map((rows) => rows.join('\n'))].join('\n\n');
}

/**
 * The commit of a directory, and whether there is more in it than that; documents do not count, since tables are written into them one
 * after the other. @returns words in brackets; nothing where git does not know
 */
export function codeOf(directory: string): string {
  const ask = (...args: string[]): string | undefined => {
    const { status, stdout } = spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : undefined;
  };
  const commit = ask('rev-parse', '--short', 'HEAD');
  if (!commit) return '';
  const changes = ask('status', '--porcelain', '--', '.', ':!docs', ':!*.md');
  return changes === '' ? ` (commit ${commit})` : ` (commit ${commit}, with changes)`;
}

function line(cells: readonly string[]): string {
  return `|${cells.join('|')}|`;
}

/**
 * Puts a text between the marks `<!-- proof:PART -->` and `<!-- /proof:PART -->` of a document.
 * @throws Error where the document does not have the marks
 */
export function withPart(document: string, part: string, text: string): string {
  const [begin, end] = [`<!-- proof:${part} -->`, `<!-- /proof:${part} -->`];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the document has no place for ${part}`);
  return `${document.slice(0, from)}${begin}\n\n${text}\n\n${document.slice(to)}`;
}
