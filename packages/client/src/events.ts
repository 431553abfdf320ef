/** A handler's parameters depend on its event; the caller that registers it knows them. */
type Handler = (...details: never[]) => void;

export interface Events {
  /** Returns a function that removes the handler. */
  readonly on: (name: string, handler: Handler) => () => void;
  /** When a handler throws, that is an uncaught error of its own, which stops neither the other handlers nor us. */
  readonly emit: (name: string, ...details: unknown[]) => void;
}

/** Handlers by the name of their event. */
export function makeEvents(): Events {
  let entries: readonly (readonly [string, Handler])[] = [];
  return {
    on(name, handler) {
      const entry = [name, handler] as const;
      entries = [...entries, entry];
      return () => void (entries = entries.filter((other) => other !== entry));
    },
    emit(name, ...details) {
      for (const [of, handler] of entries) {
        // In a promise of its own: an error is reported as uncaught, and the order of the calls is kept.
        if (of === name) void (async () => (handler as (...all: unknown[]) => void)(...details))();
      }
    },
  };
}
