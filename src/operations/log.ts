import { isNativeError } from 'node:util/types';
import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { LineLimit } from '../platform/http/middleware/line-limit.js';
import { Repeats } from '../platform/http/middleware/repeats.js';

// Nest's own lines at each start: for developers of the service only.
const NEST_CONTEXTS = /^(NestFactory|InstanceLoader|RoutesResolver|RouterExplorer|NestApplication)$/;
// They log an error that they also throw; the start retries or prints it.
const RETHROWING_CONTEXTS = /^(ExceptionHandler|NestApplication)$/;

/**
 * Creates the log of the service: one JSON object per line, which the destination may format (log-output.ts).
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    destination,
  );
}

const PARSERS = /^(SyntaxError|URIError)$/; // JSON.parse and Express's router quote the input
const DATA_EXCEPTION = /^22[0-9A-Z]{3}$/; // SQLSTATE class with messages that quote the value
const MAX_CAUSES = 5;

/**
 * Describes an error by name, code, message and stack, and so its causes. Left out is what may hold secrets:
 * - other properties: axios errors carry the form with the client secret, PostgreSQL's carry rows;
 * - message and stack of errors that quote the input;
 * - causes that are not errors: libraries pass what they received as a cause.
 */
export function describeError(error: unknown, causes = MAX_CAUSES): object {
  if (!isError(error)) return { message: 'not an error' };
  const { isQuoting, name, message, code } = factsOf(error);
  return {
    name,
    message,
    ...(!isQuoting && { stack: error.stack }),
    ...(code !== undefined && { code }),
    ...(error.cause !== undefined && causes > 0 && { cause: describeError(error.cause, causes - 1) }),
  };
}

/** Describes an error and its causes in one line, without stacks. */
function lineOf(error: unknown, causes = MAX_CAUSES): string {
  if (!isError(error)) return 'not an error';
  const { name, message, code } = factsOf(error);
  const line = `${name}: ${message}${code === undefined ? '' : ` (${code})`}`;
  return error.cause === undefined || causes === 0
    ? line
    : `${line}, caused by ${lineOf(error.cause, causes - 1)}`;
}

function factsOf({ name, message, code }: Error & { code?: unknown }) {
  const isQuoting = PARSERS.test(name) || DATA_EXCEPTION.test(String(code));
  return {
    isQuoting,
    name,
    message: isQuoting ? 'could not be parsed' : message,
    code: typeof code === 'string' ? code : undefined,
  };
}

/** Whether a value is an error of any realm, and not an object from JSON that has a `message`. */
function isError(value: unknown): value is Error {
  return isNativeError(value) || Object.prototype.toString.call(value) === '[object DOMException]';
}

/** Passes the lines of Nest, and of each `new Logger(context)` in the service, to the log. */
export class NestLog implements LoggerService {
  readonly log = this.writer('info');
  readonly error = this.writer('error');
  readonly warn = this.writer('warn');
  readonly debug = this.writer('debug');
  readonly verbose = this.writer('trace');
  readonly fatal = this.writer('fatal');

  /**
   * By context. Lines that each request may cause, for instance while the database is unavailable, must not
   * fill the disk.
   */
  private readonly limits = { error: this.limit('error'), warn: this.limit('warn') };
  /** Of equal errors one line a second is written, the first with its stack. */
  private readonly repeats = { error: this.repeated('error'), warn: this.repeated('warn') };

  constructor(private readonly logger: Logger) {}

  private limit(level: 'error' | 'warn'): LineLimit<string> {
    return new LineLimit((context, left_out) => this.logger[level]({ context, left_out }));
  }

  private repeated(level: 'error' | 'warn'): Repeats<object> {
    return new Repeats((facts, left_out) => this.logger[level]({ ...facts, left_out }));
  }

  private admits(level: 'error' | 'warn', context: string, fields: Fields): boolean {
    const { err, request_id: _id, ...others } = fields;
    if (err !== undefined) {
      const facts = { context, ...others, error: lineOf(err) };
      if (!this.repeats[level].isFirst(JSON.stringify(facts), facts)) return false;
    }
    return this.limits[level].admits(context);
  }

  /** Nest passes the context last. */
  private writer(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal') {
    return (message: string | object, ...rest: unknown[]): void => {
      const context = rest.at(-1) as string; // undefined for a line without one
      const quiet = { error: RETHROWING_CONTEXTS, info: NEST_CONTEXTS }[level as string];
      const at = quiet?.test(context) ? 'debug' : level;
      const fields = fieldsOf(message);
      if ((at === 'error' || at === 'warn') && !this.admits(at, context, fields)) return;
      this.logger[at]({ context, ...fields });
    };
  }
}

type Fields = Readonly<Record<string, unknown>> & { readonly err?: unknown; readonly msg?: string };

/** A message that is an object holds fields, unless it is an error. */
function fieldsOf(message: string | object): Fields {
  if (typeof message === 'string') return { msg: message };
  const fields: Fields = isError(message) ? { err: message } : (message as Fields);
  // Else pino would take the error's own, which may quote the input.
  return isError(fields.err) && fields.msg === undefined
    ? { ...fields, msg: factsOf(fields.err).message }
    : fields;
}
