import type { Mutant } from './instrument.js';
import type { Coverage, Trial } from './orders.js';
import type { Results, Verdict } from './results.js';
import { SpecProcess } from './spec-process.js';

/** A spec, and which of its tests may kill which mutant. */
export interface Spec {
  readonly path: string;
  readonly coverage: Coverage;
  /** Milliseconds of all of its tests. */
  readonly total: number;
  /** For each test and hook. */
  readonly limitMs: number;
  /** Places of the tests that pass without a mutant; undefined where all do. */
  readonly all: number[] | undefined;
  /** By a mutant's id: the tests, in their order, whether the modules have to be loaded with it, whether tests reach it. */
  readonly plan: Map<string, { tests: number[]; reload: boolean; near: boolean }>;
}

/** So many kills, and the process has to show that its tests still pass without a mutant. */
const UNSETTLED = 10;

/** After so many, a process is begun anew. */
const TRIALS_OF_A_PROCESS = 200;

/**
 * Tries mutants on one spec. A kill counts when the same tests, in the same process, pass without the mutant: once for each list
 * of tests, since tests may need others before them; and again after every ten kills, since a mutant may leave something behind.
 * If they do not pass, all kills since the last time are tried again, in a process of their own each.
 */
export class SpecTrials {
  killed = 0;
  private readonly process: SpecProcess;
  /** Lists of tests that have passed without a mutant, each alone. */
  private readonly sound = new Set<string>();
  private unsettled: { mutant: Mutant; verdict: Verdict; tests: number[] | undefined; reload: boolean }[] =
    [];
  private trials = 0;

  constructor(
    root: string,
    private readonly spec: Spec,
    private readonly results: Results,
  ) {
    this.process = new SpecProcess(root, spec.path);
  }

  /**
   * Of mutants that most specs reach and few notice, those that have to be tried alone: where all tests pass with all of them at once,
   * none was noticed; else half of them are looked at, and then the other half. One that hides what another one does can only make the
   * figure worse than it is, since a kill takes a trial of its own.
   */
  async sift(mutants: readonly Mutant[]): Promise<readonly Mutant[]> {
    if (mutants.length < 2) return mutants;
    const ids = mutants.map(({ id }) => id);
    const trial = await this.run(ids, this.spec.all, true);
    if (typeof trial === 'string' || trial.failure) {
      await this.process.end();
      const half = Math.ceil(mutants.length / 2);
      return [...(await this.sift(mutants.slice(0, half))), ...(await this.sift(mutants.slice(half)))];
    }
    const took = new Set(trial.took);
    const [harmless, hidden] = [
      mutants.filter(({ id }) => took.has(id)),
      mutants.filter(({ id }) => !took.has(id)),
    ];
    for (const { key, file } of harmless)
      this.results.of(key, file).passed[this.spec.path] = this.results.hash(this.spec.path);
    return harmless.length === 0 ? hidden : this.sift(hidden);
  }

  async try(mutant: Mutant, isAlone = false): Promise<void> {
    const verdict = this.results.of(mutant.key, mutant.file);
    const { tests, reload } = this.spec.plan.get(mutant.id)!;
    if (++this.trials % TRIALS_OF_A_PROCESS === 0) {
      await this.settle();
      await this.process.end();
    }
    // Tests that need others before them fail alone: then all tests of the spec are run.
    for (const wanted of [tests, this.spec.all]) {
      const trial = await this.run([mutant.id], wanted, reload);
      verdict.passed[this.spec.path] = this.results.hash(this.spec.path);
      if (typeof trial !== 'string' && !trial.failure) return;
      const failed = typeof trial === 'string' ? -1 : trial.failure!.test;
      const upToIt = failed < 0 ? wanted : this.upTo(failed, wanted);
      const list = `${String(reload)} ${String(upToIt)}`;
      if ((isAlone || !this.sound.has(list)) && !(await this.passes(upToIt, reload))) {
        await this.process.end();
        continue;
      }
      this.sound.add(list);
      this.kill(verdict, trial, failed);
      if (!isAlone) this.unsettled.push({ mutant, verdict, tests: upToIt, reload });
      if (this.unsettled.length >= UNSETTLED) await this.settle();
      return;
    }
  }

  /** Makes sure of the last kills. */
  async settle(): Promise<void> {
    const [last, kills] = [this.unsettled.at(-1), this.unsettled];
    this.unsettled = [];
    if (!last || (await this.passes(last.tests, last.reload))) return;
    for (const { mutant, verdict } of kills) {
      await this.process.end();
      delete verdict.killed;
      this.killed--;
      await this.try(mutant, true);
    }
  }

  async end(): Promise<void> {
    await this.settle();
    await this.process.end();
  }

  private upTo(failed: number, wanted: number[] | undefined): number[] {
    return (wanted ?? this.spec.all ?? this.spec.coverage.names.map((_, test) => test)).filter(
      (test) => test <= failed,
    );
  }

  private async passes(tests: number[] | undefined, reload: boolean): Promise<boolean> {
    const trial = await this.run([], tests, reload);
    return typeof trial !== 'string' && !trial.failure;
  }

  private run(
    mutants: readonly string[],
    tests: number[] | undefined,
    reload: boolean,
  ): Promise<Trial | 'ended' | 'hung'> {
    const { limitMs, total } = this.spec;
    const forMs = 20_000 + 2 * limitMs + 3 * total;
    return this.process.tell({ kind: 'try', mutants, tests, reload, limitMs }, forMs);
  }

  private kill(verdict: Verdict, trial: Trial | string, failed: number): void {
    const error = typeof trial === 'string' ? `the process has ${trial}` : trial.failure!.error;
    const hung =
      trial === 'hung' ||
      (typeof trial !== 'string' && trial.looped) ||
      error.includes('Exceeded timeout of');
    verdict.killed = hung ? 'timeout' : 'killed';
    verdict.by = `${this.spec.path}: ${this.spec.coverage.names[failed] ?? 'as a whole'}`;
    verdict.error = error.split('\n').slice(0, 3).join('\n').slice(0, 200);
    this.killed++;
  }
}
