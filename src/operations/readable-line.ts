import { stripVTControlCharacters } from 'node:util';

/** What the line begins with, or what only a program needs. */
const LEFT_OUT = new Set(['level', 'time', 'msg', 'audit', 'context', 'err']);
const MOST_CAUSES = 5;
const PLAIN = /^[\w.:/@+-]+$/;

/**
 * One line of the log for people: the message, or the name of the audit event, and the fields as `name=value`. Only the
 * stack of an error stands on lines of its own.
 */
export function readableLine(line: Record<string, unknown>): string {
  const { msg, audit, context, err } = line;
  const isNamed = msg !== undefined || audit !== undefined;
  const head = isNamed ? textOf(msg ?? audit) : err === undefined ? textOf(context) : '';
  const fields = Object.entries(line)
    .filter(([name, value]) => !LEFT_OUT.has(name) && value !== undefined)
    .map(([name, value]) => `${name}=${fieldOf(value)}`);
  return [[head, ...fields].filter(Boolean).join(' '), errorOf(err)].filter(Boolean).join(': ');
}

function fieldOf(value: unknown): string {
  if (typeof value !== 'string') return oneLine(JSON.stringify(value));
  return PLAIN.test(value) ? value : oneLine(JSON.stringify(value));
}

/** What `describeError` has made of an error, with its causes. */
function errorOf(err: unknown, causes = MOST_CAUSES): string {
  if (typeof err !== 'object' || err === null) return '';
  const { name, message, code, stack, cause } = err as Record<string, unknown>;
  const said = [name, message].filter((part) => part !== undefined).map(textOf);
  const known = code === undefined ? '' : ` (${textOf(code)})`;
  const frames = typeof stack === 'string' ? stack.split('\n').filter((part) => /^ +at /.test(part)) : [];
  const because = causes > 0 ? errorOf(cause, causes - 1) : '';
  return [`${said.join(': ')}${known}`, ...frames.map(oneLine), because && `caused by ${because}`]
    .filter(Boolean)
    .join('\n');
}

function textOf(value: unknown): string {
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Nothing that was logged can begin a line, or tell the terminal something. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, // oxlint-disable-line no-control-regex
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
