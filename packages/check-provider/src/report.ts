import type { Evidence } from './evidence.js';
import type { Rule } from './rule.js';
import { RULES } from './rules.js';

/** One line of the report. `advice`: good practice that is not followed; it does not fail the check. */
export interface Result extends Pick<Rule, 'id' | 'clause' | 'title' | 'level'> {
  readonly verdict: 'pass' | 'fail' | 'advice' | 'skipped';
  readonly seen: string;
  /** How to mend it; null when there is nothing to mend. */
  readonly mend: string | null;
}

export interface Report {
  readonly provider: string;
  /** Whether no rule fails. */
  readonly ok: boolean;
  readonly results: readonly Result[];
}

/** Holds the evidence against every rule. @param secrets texts that must not appear, whatever the provider echoes */
export function judge(evidence: Evidence, secrets: readonly string[]): Report {
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
