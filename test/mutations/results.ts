import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Verdict {
  /** `killed`: a test failed. `timeout`: it, or the process, hung. Left out: it has survived what was tried. */
  killed?: 'killed' | 'timeout';
  /** The spec and the name of the test. */
  by?: string;
  /** First lines of the error. */
  error?: string;
  /** Hashes: of the source, and of each spec on which it was tried. */
  source: string;
  passed: Record<string, string>;
  /** How many specs reach it, and on how many of these it was not tried yet. Left out: nobody has looked. */
  reached?: number;
  left?: number;
}

interface Kept {
  verdicts: Record<string, Verdict>;
  /** Of each spec: what it was made from, and what it said. */
  coverage: Record<string, { of: string; said: unknown }>;
}

/** What is known of the mutants, kept in a file, so that a run goes on where another one ended, and tries only what has changed. */
export class Results {
  private readonly kept: Kept;
  private readonly hashes = new Map<string, string>();

  constructor(
    private readonly path: string,
    private readonly hashOf: (file: string) => string,
  ) {
    this.kept = existsSync(path)
      ? (JSON.parse(readFileSync(path, 'utf8')) as Kept)
      : { verdicts: {}, coverage: {} };
  }

  hash(file: string): string {
    let hash = this.hashes.get(file);
    if (hash === undefined) this.hashes.set(file, (hash = this.hashOf(file)));
    return hash;
  }

  /** What is known of a mutant of a source as it is now; killed by a spec that has changed since then: nothing. */
  of(key: string, file: string): Verdict {
    const known = this.kept.verdicts[key];
    const source = this.hash(file);
    if (known?.source === source && !known.killed) return known;
    if (known?.source === source && known.by) {
      const spec = known.by.split(':')[0]!;
      if (known.passed[spec] === this.hash(spec)) return known;
    }
    return (this.kept.verdicts[key] = { source, passed: {} });
  }

  coverage(spec: string, of: string): unknown {
    const known = this.kept.coverage[spec];
    return known?.of === of ? known.said : undefined;
  }

  keepCoverage(spec: string, of: string, said: unknown): void {
    this.kept.coverage[spec] = { of, said };
  }

  save(): void {
    mkdirSync(dirname(this.path), { recursive: true });
    writeFileSync(`${this.path}.new`, JSON.stringify(this.kept));
    renameSync(`${this.path}.new`, this.path);
  }
}
