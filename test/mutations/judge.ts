import { createHash } from 'node:crypto';
import type { Mutant } from './instrument.js';
import type { Coverage } from './orders.js';
import type { Results } from './results.js';
import { SpecProcess } from './spec-process.js';
import { SpecTrials, type Spec } from './spec-trials.js';

/** Tries each mutant on the specs that reach it, until a test fails. */
export class Judge {
  private readonly atWork = new Set<Spec>();
  private readonly rounds = new Map<Spec, number>();
  private readonly busy = new Set<string>();
  private readonly spent = new Map<string, number>();
  private readonly began = performance.now();
  private farToo = false;

  constructor(
    private readonly root: string,
    private readonly all: readonly Mutant[],
    private readonly mutants: readonly Mutant[],
    private readonly results: Results,
    private readonly budgetMs: number,
    /** Whether all specs are used that there are. */
    private readonly isComplete: boolean,
  ) {}

  async run(paths: readonly string[], workers: number): Promise<void> {
    const of = createHash('sha256')
      .update(this.all.map(({ id, key }) => id + key).join())
      .digest('hex');
    const left = [...paths];
    const specs: Spec[] = [];
    await inParallel(workers, async () => {
      for (let path = left.shift(); path; path = left.shift()) {
        const spec = await this.look(path, of);
        if (spec) specs.push(spec);
      }
    });
    this.results.save();
    // What each start of a service runs, nearly all specs reach, and few of them judge it: that is for the end.
    for (this.farToo of [false, true]) {
      this.rounds.clear();
      await inParallel(workers, async () => {
        for (let spec = this.next(specs); spec; spec = this.next(specs)) {
          await this.tryOn(spec);
          this.atWork.delete(spec);
          this.results.save();
        }
      });
    }
    this.keepCounts(specs);
  }

  /** Notes of each mutant how many specs reach it, and on how many it was not tried. */
  private keepCounts(specs: readonly Spec[]): void {
    for (const { id, key, file } of this.mutants) {
      const verdict = this.results.of(key, file);
      const reaching = specs.filter(({ plan }) => plan.has(id));
      if (reaching.length === 0 && !this.isComplete) continue; // others may reach it
      verdict.reached = reaching.length;
      verdict.left = reaching.filter(({ path }) => verdict.passed[path] !== this.results.hash(path)).length;
    }
    this.results.save();
  }

  /**
   * The spec that comes next: the one with most open mutants for its time, where one that many specs reach counts less, since
   * those that reach few know more about it. Several times the same, if another one was busy with some of its mutants.
   */
  private next(specs: readonly Spec[]): Spec | undefined {
    const reaching = new Map<string, number>();
    for (const { plan } of specs) {
      for (const [id, { near }] of plan) {
        if (near || this.farToo) reaching.set(id, (reaching.get(id) ?? 0) + 1);
      }
    }
    const worth = (spec: Spec): number =>
      sum(this.openOn(spec).map(({ id }) => 1 / reaching.get(id)!)) / costOf(spec);
    const idle = specs.filter((spec) => !this.atWork.has(spec) && (this.rounds.get(spec) ?? 0) < 3);
    const best = idle.toSorted((one, other) => worth(other) - worth(one))[0];
    if (!best || worth(best) === 0) return undefined;
    this.rounds.set(best, (this.rounds.get(best) ?? 0) + 1);
    this.atWork.add(best);
    return best;
  }

  private openOn(spec: Spec): Mutant[] {
    return this.mutants.filter(({ id, key, file }) => {
      const plan = spec.plan.get(id);
      if (!plan || !(plan.near || this.farToo)) return false;
      const { killed, passed } = this.results.of(key, file);
      return (
        !killed &&
        passed[spec.path] !== this.results.hash(spec.path) &&
        (this.spent.get(key) ?? 0) < this.budgetMs
      );
    });
  }

  /** What a spec reaches; undefined where it cannot judge. */
  private async look(path: string, sources: string): Promise<Spec | undefined> {
    const of = sources + this.results.hash(path);
    let coverage = this.results.coverage(path, of) as Coverage | undefined;
    if (!coverage) {
      const process = new SpecProcess(this.root, path);
      const said = await process.tell({ kind: 'dry', limitMs: 60_000 }, 400_000).catch(String);
      await process.end();
      if (typeof said === 'string') return this.tell(`${path}: left out: ${said}`);
      coverage = said;
      const { failures, durations, names } = coverage;
      this.tell(`${path}: ${sum(durations)} ms, ${names.length} tests, of which ${failures.length} fail`);
      for (const { test, error } of failures)
        this.tell(`${names[test] ?? 'as a whole'}: ${error.slice(0, 200)}`);
      if (failures.length === 0) this.results.keepCoverage(path, of, coverage); // else it is looked at again
      this.results.save();
    }
    if (coverage.failures.some(({ test }) => test < 0)) return undefined;
    const total = sum(coverage.durations);
    const limitMs = 6000 + 3 * Math.max(0, ...coverage.durations);
    const bad = new Set(coverage.failures.map(({ test }) => test));
    const all =
      bad.size > 0 ? coverage.names.map((_, test) => test).filter((test) => !bad.has(test)) : undefined;
    return { path, coverage, total, limitMs, all, plan: this.plan(coverage, all) };
  }

  private plan(coverage: Coverage, all: number[] | undefined): Spec['plan'] {
    const byTest = new Map<string, number[]>();
    const good = all ?? coverage.tests.map((_, test) => test);
    good.forEach((test) =>
      coverage.tests[test]!.forEach((id) => byTest.set(id, [...(byTest.get(id) ?? []), test])),
    );
    const byFile = new Map<string, Set<number>>();
    for (const { id, file } of this.all) {
      const tests = byFile.get(file) ?? new Set();
      byFile.set(file, tests);
      for (const test of byTest.get(id) ?? []) tests.add(test);
    }
    const hooks = new Set(coverage.hooks);
    const loading = new Set(coverage.loading);
    const plan: Spec['plan'] = new Map();
    for (const { id, file } of this.mutants) {
      // Reached before the tests: those judge it that reach its file, or all if none does; what was made while modules were
      // loaded (a statement, put together in another file) any of them may use.
      const before = loading.has(id) || hooks.has(id);
      const near = [...byFile.get(file)!].toSorted((one, other) => one - other);
      const judges = loading.has(id) || near.length === 0 ? good : near;
      const tests = before ? judges : byTest.get(id);
      if (tests) plan.set(id, { tests, reload: loading.has(id), near: byTest.has(id) && !before });
    }
    return plan;
  }

  private async tryOn(spec: Spec): Promise<void> {
    const trials = new SpecTrials(this.root, spec, this.results);
    const began = performance.now();
    const all = this.openOn(spec);
    const near = all.filter(({ id }) => spec.plan.get(id)!.near);
    const sifted = await trials.sift(all.filter(({ id }) => !spec.plan.get(id)!.near));
    if (sifted.length < all.length - near.length) this.results.save();
    const open = [...near, ...sifted].toSorted(
      (one, other) => Number(spec.plan.get(one.id)!.reload) - Number(spec.plan.get(other.id)!.reload),
    );
    let tried = 0;
    for (const mutant of open) {
      const { key, file } = mutant;
      if (this.results.of(key, file).killed || this.busy.has(key)) continue;
      this.busy.add(key);
      const from = performance.now();
      await trials
        .try(mutant)
        .catch((error: unknown) => this.tell(`${file}:${mutant.line}: ${String(error)}`));
      this.busy.delete(key);
      this.spent.set(key, (this.spent.get(key) ?? 0) + performance.now() - from);
      if (++tried % 25 === 0) {
        await trials.settle();
        this.results.save();
        this.tell(`${spec.path}: ${tried} of ${open.length}; ${this.count()}`);
      }
    }
    await trials.end();
    if (all.length === 0) return;
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    const together = all.length - near.length - sifted.length;
    this.tell(
      `${spec.path}: ${trials.killed} killed of ${tried}${together > 0 ? `, and none of ${together} at once` : ''}, ${seconds} s; ${this.count()}`,
    );
  }

  private count(): string {
    const tried = this.mutants;
    const killed = tried.filter(({ key, file }) => this.results.of(key, file).killed).length;
    return `${killed} of ${tried.length} (${((100 * killed) / tried.length).toFixed(1)} %)`;
  }

  private tell(text: string): undefined {
    globalThis.process.stdout.write(`${((performance.now() - this.began) / 1000).toFixed(0)} s: ${text}\n`);
  }
}

/** Milliseconds that a trial may take: a spec beside the code starts no service. */
function costOf({ path, total }: Spec): number {
  return (path.startsWith('src/') ? 5 : 400) + total / 4;
}

function sum(figures: readonly number[]): number {
  return figures.reduce((one, other) => one + other, 0);
}

async function inParallel(workers: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: workers }, work));
}
