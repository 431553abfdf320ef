/** The parameters of a handler depend on its event. */
type Handler = (...details: never[]) => void;

export type Events = ReturnType<typeof makeEvents>;

export function makeEvents() {
  let entries: readonly (readonly [string, Handler])[] = [];
  return {
    /** @returns a function that removes the handler */
    on: (name: string, handler: Handler): (() => void) => {
      const entry = [name, handler] as const;
      entries = [...entries, entry];
      return () => void (entries = entries.filter((other) => other !== entry));
    },
    /** A handler that throws causes an uncaught error; the other handlers still run. */
    emit: (name: string, ...details: unknown[]): void => {
      for (const [event, handler] of entries) {
        // An async function: the error becomes an unhandled rejection, and the order of the calls is kept.
        if (event === name) void (async () => (handler as (...all: unknown[]) => void)(...details))();
      }
    },
  };
}
