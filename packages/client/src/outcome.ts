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
  let open: { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } | undefined;
  return {
    isOpen: () => !!open,
    expect() {
      if (!open) {
        let both!: [() => void, (error: Error) => void];
        const promise = new Promise<void>((...given) => (both = given));
        promise.catch(() => undefined); // the dialog shows it to the user
        open = { promise, resolve: both[0], reject: both[1] };
      }
      return open.promise;
    },
    settle(error) {
      const settled = open;
      open = undefined;
      if (error) settled?.reject(error);
      else settled?.resolve();
    },
  };
}
