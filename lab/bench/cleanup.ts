type Undo = () => void | Promise<void>;

/** What was made and must be undone, last first, however the run ends. */
export class Cleanup {
  private readonly undos: Undo[] = [];
  private running?: Promise<void>;

  add(undo: Undo): void {
    this.undos.push(undo);
  }

  get hasBegun(): boolean {
    return this.running !== undefined;
  }

  /** Undoes everything, once; a step that fails does not keep the others from running. */
  run(): Promise<void> {
    this.running ??= this.undoAll();
    return this.running;
  }

  private async undoAll(): Promise<void> {
    for (const undo of this.undos.toReversed()) {
      try {
        await undo();
      } catch (error) {
        console.error(error);
      }
    }
  }
}
