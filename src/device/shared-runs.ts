/** Runs one work for each key at a time. Calls during a run share the next one, since the run may have read before they arrived. */
export class SharedRuns {
  private readonly runs = new Map<string, { readonly done: Promise<void>; next?: Promise<void> }>();

  /** @param work of the first caller of a run; the work of those that share it is not called */
  share(key: string, work: () => Promise<void>): Promise<void> {
    const run = this.runs.get(key);
    return run ? (run.next ??= run.done.then(() => this.begin(key, work))) : this.begin(key, work);
  }

  private begin(key: string, work: () => Promise<void>): Promise<void> {
    const result = work();
    const run: { readonly done: Promise<void>; next?: Promise<void> } = {
      done: result.catch(() => undefined),
    };
    this.runs.set(key, run);
    void run.done.finally(() => {
      if (!run.next) this.runs.delete(key);
    });
    return result;
  }
}
