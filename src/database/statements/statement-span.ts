import { currentTracer, type EndSpan } from '../../spans.js';

const WORDS = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|START|BEGIN|COMMIT|ROLLBACK|SET)\b/i;

/** What spans tell of a statement: its name. Never its text, in which TypeORM might write a value. */
export function statementFacts(name: string): Readonly<Record<string, string>> {
  return { 'db.system.name': 'postgresql', 'db.operation.name': name };
}

/**
 * Begins the span of a statement, where one is wanted.
 * @param query what pg's client is asked: a text, or an object with `text`, and perhaps `name`
 */
export function beginStatement(query: unknown): EndSpan | undefined {
  const tracer = currentTracer();
  if (!tracer) return undefined;
  const { name, text } = (typeof query === 'string' ? { text: query } : (query ?? {})) as {
    name?: unknown;
    text?: unknown;
  };
  const [, word] = WORDS.exec(typeof text === 'string' ? text : '') ?? [];
  const told = typeof name === 'string' && name !== '' ? name : (word?.toUpperCase() ?? 'statement');
  return tracer.begin(told, statementFacts(told));
}
