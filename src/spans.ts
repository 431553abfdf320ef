import type { RequestHandler } from 'express';

/** Ends a span, with the error if it failed. */
export type EndSpan = (error?: unknown) => void;

/** Makes spans of OpenTelemetry (operations/traces). There is one only where its variables ask for traces (contract §2). */
export interface Tracer {
  /** A middleware: the rest of the request belongs to its span. */
  readonly request: RequestHandler;
  /**
   * Begins a span for something that is asked of another system, as a part of the request's.
   * @param attributes of closed sets: never what was sent or stored
   * @returns undefined where no request is under way that is traced
   */
  begin(name: string, attributes: Readonly<Record<string, string>>): EndSpan | undefined;
  /** A function that belongs to the request under way, from wherever it is called. */
  bind<Args extends unknown[], Result>(work: (...args: Args) => Result): (...args: Args) => Result;
  /** Does work that belongs to no request. */
  apart<Result>(work: () => Result): Result;
}

// Like Node.js' own hooks, one for the process: what is traced is reached without injection (database clients).
let tracer: Tracer | undefined;

/** From now on spans are made. */
export function traceWith(made: Tracer): void {
  tracer = made;
}

/** Undefined where nothing is traced. */
export function currentTracer(): Tracer | undefined {
  return tracer;
}

/** Does work that belongs to no one request. */
export function apart<Result>(work: () => Result): Result {
  return tracer ? tracer.apart(work) : work();
}

/** Does work as a span (see Tracer.begin); where nothing is traced, it is just done. */
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
