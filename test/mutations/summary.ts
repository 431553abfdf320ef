import type { Figure } from '../support/proof.js';
import type { Mutant } from './instrument.js';
import { REASONS } from './reasons.js';
import type { Results, Verdict } from './results.js';

/** A mutant that is tried, with what is known of it. */
export type Judged = Mutant & { readonly verdict: Verdict };

export function judgedOf(mutants: readonly Mutant[], results: Results): Judged[] {
  return mutants.map((mutant) => ({ ...mutant, verdict: results.of(mutant.key, mutant.file) }));
}

/** What has to be killed of all. */
const WANTED = 0.9;

/** Alive after all tests that reach it. */
function hasSurvived({ verdict }: Judged): boolean {
  return !verdict.killed && verdict.left === 0;
}

function isDead({ verdict }: Judged): boolean {
  return verdict.killed !== undefined;
}

/** Alive so far, and not tried on all tests that reach it; or it is not known which do. */
function isOpen(one: Judged): boolean {
  return !isDead(one) && !hasSurvived(one);
}

/**
 * Whether what the table wants holds: as many are killed as are wanted, and none is open. An open one counts as alive, so more may be
 * killed than are known to be; but the figures are of a run that is not done.
 */
export function holds(judged: readonly Judged[]): boolean {
  return judged.filter(isDead).length >= WANTED * judged.length && !judged.some(isOpen);
}

/** For the table of docs/reliability.md. */
export function figuresOf(judged: readonly Judged[]): Figure[] {
  const figure = (what: string, found: string, wanted?: string): Figure => ({
    part: 'mutations',
    what,
    figure: found,
    ...(wanted !== undefined && { wanted }),
  });
  const killed = judged.filter(isDead);
  const hung = killed.filter(({ verdict }) => verdict.killed === 'timeout').length;
  const alive = judged.filter(hasSurvived);
  const equivalent = alive.filter(({ key }) => REASONS[key]?.startsWith('equivalent')).length;
  const reached = judged.filter(({ verdict }) => verdict.killed || (verdict.reached ?? 0) > 0).length;
  const open = judged.filter(isOpen).length;
  return [
    figure('mutants', String(judged.length)),
    figure('reached by a test', String(reached)),
    figure('killed, of which by hanging', `${killed.length}; ${hung}`),
    figure('killed of all', percent(killed.length, judged.length), `≥ ${WANTED * 100} %`),
    figure('killed of all but those that are equivalent', percent(killed.length, judged.length - equivalent)),
    figure('survivors, of which equivalent', `${alive.length}; ${equivalent}`),
    figure('not tried on all tests that reach them yet', String(open), '0'),
    ...['auth', 'provider', 'token'].map((room) => {
      const of = judged.filter(({ file }) => file.startsWith(`src/${room}/`));
      const dead = of.filter(({ verdict }) => verdict.killed).length;
      return figure(`\`src/${room}\`: killed of all`, `${dead} of ${of.length}: ${percent(dead, of.length)}`);
    }),
  ];
}

/** A line for each source: how many are dead, have survived, and are open. */
export function linesByFile(judged: readonly Judged[]): string {
  return [...new Set(judged.map(({ file }) => file))]
    .map((file) => {
      const of = judged.filter((one) => one.file === file);
      const dead = of.filter(({ verdict }) => verdict.killed).length;
      const alive = of.filter(hasSurvived).length;
      return `${file}: ${dead} of ${of.length} killed (${percent(dead, of.length)}), ${alive} survived, ${of.length - dead - alive} open\n`;
    })
    .join('');
}

/** A line for each survivor. */
export function survivorLines(judged: readonly Judged[]): string {
  return judged
    .filter(hasSurvived)
    .map(({ key, file, line, mutator, original, replacement, verdict }) => {
      const reason = REASONS[key] ?? (verdict.reached === 0 ? 'no test reaches it' : '');
      return `${key} ${file}:${line} ${mutator}: ${short(original)} → ${short(replacement)} ${reason}\n`;
    })
    .join('');
}

/** Why a mutant is alive. */
function reasonOf({ key, verdict }: Judged): string {
  const { reached, left } = verdict;
  const isReached = reached !== 0;
  const reason = REASONS[key] ?? (isReached ? 'not looked at yet' : 'no test of these specs reaches it');
  if (left === 0) return reason;
  const tried =
    left === undefined ? 'not tried on all specs yet' : `not tried yet on ${left} of ${reached} specs`;
  return `open: ${REASONS[key] ?? tried}`;
}

/** docs/mutations.md: all that are alive, by source, with the reason of each. */
export function survivorPage(judged: readonly Judged[]): string {
  const alive = judged.filter((one) => !isDead(one));
  const open = alive.filter(isOpen).length;
  const unreached = alive.filter(({ verdict }) => verdict.reached === 0).length;
  const sections = [...new Set(alive.map(({ file }) => file))].map((file) => {
    const rows = alive
      .filter((one) => one.file === file)
      .map((one) => `| ${one.line} | ${code(one.original)} | ${code(one.replacement)} | ${reasonOf(one)} |`);
    return `## \`${file}\`\n\n| Line | Code | Mutant | Why it survives |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return `# Mutants that are alive

Written by \`npm run test:mutations -- --write\`; how it is measured stands in [reliability](reliability.md#mutations). ${alive.length - open} have
survived all tests that reach them (${unreached} of them, since none does); ${open} are open: no test has killed them so far, and they were not tried on all that reach them yet.

${sections.join('\n')}`;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 70 ? `${line.slice(0, 67)}…` : line;
}

function code(text: string): string {
  return `\`${short(text).replaceAll('`', "'").replaceAll('|', '\\|') || ' '}\``;
}

function percent(part: number, all: number): string {
  return `${((100 * part) / Math.max(all, 1)).toFixed(1)} %`;
}
