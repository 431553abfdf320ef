/** The parameters of a handler depend on its event. */
type Handler = (...details: never[]) => void;

export interface Events {
  /** @returns a function that removes the handler */
  readonly on: (name: string, handler: Handler) => () => void;
  /** A handler that throws causes an uncaught error; the other handlers still run. */
  readonly emit: (name: string, ...details: unknown[]) => void;
}

export function makeEvents(): Events {
  let entries: readonly (readonly [string, Handler])[] = [];
  return {
    on(name, handler) {
      const entry = [name, handler] as const;
      entries = [...entries, entry];
      return () => void (entries = entries.filter((other) => other !== entry));
    },
    emit(name, ...details) {
      for (const [event, handler] of entries) {
        // An async function: the error becomes an unhandled rejection, and the order of the calls is kept.
        if (event === name) void (async () => (handler as (...all: unknown[]) => void)(...details))();
      }
    },
  };
}
