import { stripVTControlCharacters } from 'node:util';
import { pino, type DestinationStream } from 'pino';
import pretty from 'pino-pretty';
import type { Settings } from '../platform/config/settings/settings.js';

/** Whether the log is text instead of JSON (LOG_FORMAT). */
export function isReadable({ logFormat, production }: Pick<Settings, 'logFormat' | 'production'>): boolean {
  return (logFormat ?? (production && !process.stdout.isTTY ? 'json' : 'text')) === 'text';
}

/** Creates the destination of the log: standard output, one JSON object or one line of text each. */
export function logOutput(settings: Settings): DestinationStream {
  if (!isReadable(settings)) return pino.destination(1);
  return pretty({
    sync: true, // a line that is written just before the process ends is not lost
    colorize: hasColors(),
    customColors: 'fatal:bgRed,error:red,warn:yellow,info:green,debug:blue,trace:gray,message:reset',
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    messageFormat: readableLine,
    customPrettifiers: { time: (time) => (typeof time === 'string' ? time : '') },
  });
}

/** Node.js honours NO_COLOR, FORCE_COLOR and the kind of the terminal. */
export function hasColors(): boolean {
  return process.stdout.isTTY && process.stdout.hasColors();
}

/** Fields that the line begins with, or that only programs need. */
const LEFT_OUT = new Set(['level', 'time', 'msg', 'event', 'context', 'err']);
const PLAIN = /^[\w.:/@+-]+$/;

/** Formats an entry: message or audit event, then `name=value`. Only a stack has more lines. */
export function readableLine(entry: Record<string, unknown>): string {
  const { msg, event, context, err } = entry;
  const head = msg ?? event ?? (err === undefined ? context : '');
  const fields = Object.entries(entry)
    .filter(([name, value]) => !LEFT_OUT.has(name) && value !== undefined)
    .flatMap(([name, value]) => membersOf(name, value))
    .map(([name, value]) => `${name}=${fieldOf(value)}`);
  return [[textOf(head), ...fields].filter(Boolean).join(' '), errorOf(err)].filter(Boolean).join(': ');
}

/** Members of an object are separate fields: `actor.type=user`. */
function membersOf(name: string, value: unknown): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, value]];
  return Object.entries(value).map(([member, its]) => [`${name}.${member}`, its]);
}

function fieldOf(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : oneLine(JSON.stringify(value));
}

/** Formats the result of `describeError`, which bounds the number of causes. */
function errorOf(err: unknown): string {
  if (typeof err !== 'object' || err === null) return '';
  const { name, message, code, stack, cause } = err as Record<string, unknown>;
  const text = [name, message].filter((part) => part !== undefined).map(textOf);
  const suffix = code === undefined ? '' : ` (${textOf(code)})`;
  const frames = typeof stack === 'string' ? stack.split('\n').filter((part) => /^ +at /.test(part)) : [];
  const because = errorOf(cause);
  return [`${text.join(': ')}${suffix}`, ...frames.map(oneLine), because && `caused by ${because}`]
    .filter(Boolean)
    .join('\n');
}

function textOf(value: unknown): string {
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Escapes control characters: input in the log must not forge lines or control the terminal. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, // oxlint-disable-line no-control-regex
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
