import type { RequestHandler } from 'express';

/** Ends a span, with the error if it failed. */
export type EndSpan = (error?: unknown) => void;

/** Makes spans of OpenTelemetry (operations/traces), if its environment variables are set. */
export interface Tracer {
  /** Middleware that makes a span of each request. */
  readonly request: RequestHandler;
  /** Begins a span within the request's, if it is traced. @param attributes from closed sets, never data */
  begin(name: string, attributes: Readonly<Record<string, string>>): EndSpan | undefined;
  /** Binds a function to the present request, for a later call. */
  bind<Args extends unknown[], Result>(work: (...args: Args) => Result): (...args: Args) => Result;
  /** Runs work outside of any request. */
  outsideTrace<Result>(work: () => Result): Result;
}

// One for the process: database clients are made without injection.
let tracer: Tracer | undefined;

export function traceWith(made: Tracer): void {
  tracer = made;
}

/** @returns undefined if tracing is off */
export function currentTracer(): Tracer | undefined {
  return tracer;
}

/** Runs work outside of any request, such as a batch for many. */
export function outsideTrace<Result>(work: () => Result): Result {
  return tracer ? tracer.outsideTrace(work) : work();
}

/** Runs work within a span (see Tracer.begin), if tracing is on. */
export function inSpan<Result>(
  name: string,
  attributes: Readonly<Record<string, string>>,
  work: () => Promise<Result>,
): Promise<Result> {
  const end = tracer?.begin(name, attributes);
  if (!end) return work();
  return work().then(
    (result) => {
      end();
      return result;
    },
    (error: unknown) => {
      end(error);
      throw error;
    },
  );
}

const WORDS = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|START|BEGIN|COMMIT|ROLLBACK|SET)\b/i;

/** Attributes of a statement's span; not its text, which may hold a value. */
export function statementFacts(name: string): Readonly<Record<string, string>> {
  return { 'db.system.name': 'postgresql', 'db.operation.name': name };
}

/** Begins the span of a statement if traces are on. @param query the first argument of pg's `query` */
export function beginStatement(query: unknown): EndSpan | undefined {
  if (!tracer) return undefined;
  const { name, text } = (typeof query === 'string' ? { text: query } : (query ?? {})) as {
    name?: unknown;
    text?: unknown;
  };
  const [, word] = WORDS.exec(typeof text === 'string' ? text : '') ?? [];
  const label = typeof name === 'string' && name !== '' ? name : (word?.toUpperCase() ?? 'statement');
  return tracer.begin(label, statementFacts(label));
}
