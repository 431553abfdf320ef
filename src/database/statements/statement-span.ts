import { currentTracer, type EndSpan } from '../../spans.js';

const WORDS = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|START|BEGIN|COMMIT|ROLLBACK|SET)\b/i;

/** Attributes of a statement's span; not its text, which may hold a value. */
export function statementFacts(name: string): Readonly<Record<string, string>> {
  return { 'db.system.name': 'postgresql', 'db.operation.name': name };
}

/** Begins the span of a statement if traces are on. @param query the first argument of pg's `query` */
export function beginStatement(query: unknown): EndSpan | undefined {
  const tracer = currentTracer();
  if (!tracer) return undefined;
  const { name, text } = (typeof query === 'string' ? { text: query } : (query ?? {})) as {
    name?: unknown;
    text?: unknown;
  };
  const [, word] = WORDS.exec(typeof text === 'string' ? text : '') ?? [];
  const label = typeof name === 'string' && name !== '' ? name : (word?.toUpperCase() ?? 'statement');
  return tracer.begin(label, statementFacts(label));
}
