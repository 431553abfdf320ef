import type { Evidence } from './evidence.js';
import type { Rule } from './rule.js';
import { RULES } from './rules.js';

/** Line of the report. `advice`: good practice that is not followed; the check does not fail. */
interface Result extends Pick<Rule, 'id' | 'clause' | 'title' | 'level'> {
  readonly verdict: 'pass' | 'fail' | 'advice' | 'skipped';
  readonly seen: string;
  /** How to mend a failure; else null. */
  readonly mend: string | null;
}

export interface Report {
  readonly provider: string;
  /** Whether no rule fails. */
  readonly ok: boolean;
  readonly results: readonly Result[];
}

/** Applies every rule to the evidence. @param secrets texts to redact, which the provider may echo */
export function evaluate(evidence: Evidence, secrets: readonly string[]): Report {
  const spellings = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)]);
  const redacted = (text: string): string =>
    spellings.reduce(
      (rest, secret) => (secret.length < 4 ? rest : rest.replaceAll(secret, '[redacted]')),
      text,
    );
  const results = RULES.map((rule): Result => {
    const finding = rule.run(evidence);
    const { id, clause, title, level } = rule;
    const isAdvice = finding.verdict === 'fail' && level === 'advice';
    return {
      id,
      clause,
      title,
      level,
      verdict: isAdvice ? 'advice' : finding.verdict,
      seen: redacted(finding.seen),
      mend: finding.verdict === 'fail' ? finding.mend : null,
    };
  });
  return { provider: evidence.providerUrl, ok: results.every(({ verdict }) => verdict !== 'fail'), results };
}

/** For machines; members are only ever added (docs/providers.md). */
export function jsonReport(report: Report): string {
  return JSON.stringify({ version: 1, ...report, error: null }, null, 2);
}

/** Report without results. @param message reason, of which the first line is used */
export function jsonFailure(message: string): string {
  const [error] = message.split('\n');
  return JSON.stringify({ version: 1, provider: null, ok: false, results: [], error }, null, 2);
}

const LABEL = { pass: 'pass', fail: 'FAIL', advice: 'advice', skipped: 'skipped' } as const;
const COLOUR = { pass: 32, fail: 31, advice: 33, skipped: 90 } as const; // SGR codes (ECMA-48)

/** For people: a line for each rule, then the totals. @param colours whether the terminal can, and should, show colours */
export function tableReport({ results }: Report, colours: boolean): string {
  const width = (column: 'clause' | 'title'): number =>
    Math.max(...results.map((result) => result[column].length));
  const [clauses, titles] = [width('clause'), width('title')];
  const line = ({ verdict, clause, title, seen, mend }: Result): string => {
    const label = LABEL[verdict].padEnd(7);
    const shown = colours ? `\u001b[${COLOUR[verdict]}m${label}\u001b[0m` : label;
    const said = mend === null ? seen : `${seen} -> ${mend}`;
    return `${shown}  ${clause.padEnd(clauses)}  ${title.padEnd(titles)}  ${said}`;
  };
  const count = (verdict: Result['verdict']): number =>
    results.filter((result) => result.verdict === verdict).length;
  const sum = `${count('pass')} hold, ${count('fail')} fail, ${count('advice')} advice, ${count('skipped')} skipped`;
  return [...results.map(line), '', sum].join('\n');
}
