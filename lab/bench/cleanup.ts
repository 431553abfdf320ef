import { constants } from 'node:os';

type Undo = () => void | Promise<void>;

/** What was made and must be undone, last first, however the run ends. */
export class Cleanup {
  private readonly undos: Undo[] = [];
  private running?: Promise<void>;

  /** Of the process, which a signal ends. */
  static ofProcess(): Cleanup {
    const cleanup = new Cleanup();
    // Not `once`: npm hands on what the terminal has sent already, and the second would end the clean-up.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => void cleanup.run().then(() => process.exit(128 + constants.signals[signal])));
    return cleanup;
  }

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
