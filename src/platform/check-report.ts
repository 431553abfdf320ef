/** Line of a report. `FAIL` decides on the exit code. */
export interface Finding {
  readonly verdict: 'ok' | 'warning' | 'FAIL' | 'register' | 'identity' | 'kept' | 'dropped';
  readonly part: string;
  /** Without a secret. */
  readonly seen: string;
}

const PART_WIDTH = 17;

/** Findings of a check; each is printed at once. */
export class CheckReport {
  readonly findings: Finding[] = [];

  constructor(private readonly print: (line: string) => void) {}

  add(verdict: Finding['verdict'], part: string, seen: string): void {
    this.findings.push({ verdict, part, seen });
    this.print(`${verdict.padEnd(8)}  ${part.padEnd(PART_WIDTH)}  ${seen}`);
  }

  count(verdict: Finding['verdict']): number {
    return this.findings.filter((finding) => finding.verdict === verdict).length;
  }
}
