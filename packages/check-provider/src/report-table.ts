import type { Report, Result } from './report.js';

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
