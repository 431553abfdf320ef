/**
 * Runs work of a key one at a time; equal work that has not begun yet is shared by all its callers. So any number of concurrent
 * calls of one user holds one connection.
 */
export class SharedRuns<Result> {
  private readonly last = new Map<string, Promise<unknown>>();
  private readonly waiting = new Map<string, Promise<Result>>();

  /** @param kind equal for equal work of the key; undefined: never shared */
  run(key: string, kind: string | undefined, work: () => Promise<Result>): Promise<Result> {
    const id = `${key} ${kind}`;
    const shared = kind === undefined ? undefined : this.waiting.get(id);
    if (shared) return shared;
    const run = (this.last.get(key) ?? Promise.resolve()).then(() => {
      if (this.waiting.get(id) === run) this.waiting.delete(id);
      return work();
    });
    if (kind !== undefined) this.waiting.set(id, run);
    const ended = run.then(
      () => undefined,
      () => undefined,
    );
    this.last.set(key, ended);
    void ended.then(() => this.last.get(key) === ended && this.last.delete(key));
    return run;
  }
}
