/** How something ends that several callers may wait for. */
export interface Outcome {
  /** Whether somebody waits for it. */
  readonly isOpen: () => boolean;
  /** The promise of the outcome that is expected already, or of a new one. */
  readonly expect: () => Promise<void>;
  /** Ends it, with an error or without. */
  readonly settle: (error?: Error) => void;
}

export function makeOutcome(): Outcome {
  let open: { promise: Promise<void>; settle: Outcome['settle'] } | undefined;
  return {
    isOpen: () => !!open,
    expect() {
      if (!open) {
        let settle!: Outcome['settle'];
        const promise = new Promise<void>((resolve, reject) => {
          settle = (error) => (error ? reject(error) : resolve());
        });
        promise.catch(() => undefined); // the dialog shows it to the user
        open = { promise, settle };
      }
      return open.promise;
    },
    settle(error) {
      const settled = open;
      open = undefined;
      settled?.settle(error);
    },
  };
}
