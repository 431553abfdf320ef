import { appendFileSync } from 'node:fs';

/**
 * Whether `npm run test:proof` runs the specs, with the figures that `docs/reliability.md` states; all other runs, and
 * `-- --short`, have a fraction of them.
 */
export const isFull = process.env['PROOF'] === '1';

/** For how many minutes an experiment goes on that takes a time (`-- --minutes 60`); undefined: as long as its spec says. */
export const proofMinutes = process.env['PROOF_MINUTES'] ? Number(process.env['PROOF_MINUTES']) : undefined;

/**
 * What random choices begin with: `SEED`, or a new one in full; in short always the same, so that what it finds is about the change
 * that is tested, and not about today's luck.
 */
export const seed = Number(process.env['SEED'] ?? (isFull ? Math.floor(Math.random() * 1e9) : 1));

/** One row of a table in docs/reliability.md. */
export interface Figure {
  /** The table: the name between its marks in the document, e.g. `histories`. */
  readonly part: string;
  /** What was counted or measured, e.g. `operations, of which without an answer`. */
  readonly what: string;
  /** With its unit, e.g. `212,404; 1,290`; several, by the headings of their columns. */
  readonly figure: string | Readonly<Record<string, string>>;
  /** What it has to be, e.g. `≥ 200,000`; left out: told for information. */
  readonly wanted?: string;
}

/** Prints a figure at once, and hands it to `npm run test:proof` (test/proof/main.ts) for its table. */
export function reportFigure(figure: Figure): void {
  const { part, what, figure: found, wanted } = figure;
  const told =
    typeof found === 'string'
      ? found
      : Object.entries(found)
          .map((column) => column.join(' '))
          .join('; ');
  process.stdout.write(`  ${part}: ${what}: ${told}${wanted ? ` (wanted: ${wanted})` : ''}\n`);
  const file = process.env['PROOF_FIGURES'];
  if (file) appendFileSync(file, `${JSON.stringify(figure)}\n`);
}

/** Reports a figure of a promise; only in full, since a short run reaches a fraction of what was promised. */
export function reportPromise(promise: `P${number}`, what: string, figure: string, wanted: string): void {
  if (isFull) reportFigure({ part: 'promises', what: `${promise}: ${what}`, figure, wanted });
}
