import { isNativeError } from 'node:util/types';
import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { LineLimit } from '../http/middleware/line-limit.js';

// What Nest tells about itself at every start: only developers of the service need it.
const NEST_CONTEXTS = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);
// Log, without a message of their own, an error that they throw as well: the start is then tried again, or main.ts tells it.
const THROW_AS_WELL = new Set(['ExceptionHandler', 'NestApplication']);

/** The log of the whole service: one JSON object per line, which the destination may make readable (log-output.ts). */
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

const PARSERS = /^(SyntaxError|URIError)$/; // JSON.parse quotes ten characters each side; Express's router a whole parameter
const DATA_EXCEPTION = /^22[0-9A-Z]{3}$/; // SQLSTATE of values that PostgreSQL could not read, and quotes
const MOST_CAUSES = 5;

/**
 * An error without its other properties: axios errors carry the form with the client secret, PostgreSQL's carry rows.
 * Name, code, message and stack of it and its causes are enough to find the fault. A parser's message is left out, and so is
 * the stack, which begins with it: they quote the input. Causes that are not errors are left out too: openid-client's are
 * the provider's answers.
 */
export function describeError(error: unknown, causes = MOST_CAUSES): object {
  if (!isError(error)) return { message: 'not an error' };
  const { name, message, stack, cause, code } = error as Error & { code?: unknown };
  const isQuoting = PARSERS.test(name) || DATA_EXCEPTION.test(String(code));
  return {
    name,
    ...(isQuoting ? { message: 'could not be parsed' } : { message, stack }),
    ...(typeof code === 'string' && { code }),
    ...(cause !== undefined && causes > 0 && { cause: describeError(cause, causes - 1) }),
  };
}

/** An error of any realm, but not an object from JSON that happens to have a `message`. */
function isError(value: unknown): value is Error {
  return isNativeError(value) || Object.prototype.toString.call(value) === '[object DOMException]';
}

/** Lets Nest, and every `new Logger(context)` in the service, write into it. */
export class NestLog implements LoggerService {
  readonly log = this.writer('info');
  readonly error = this.writer('error');
  readonly warn = this.writer('warn');
  readonly debug = this.writer('debug');
  readonly verbose = this.writer('trace');
  readonly fatal = this.writer('fatal');

  /** By level and context; the code has a few dozen of them. */
  private readonly limits = new Map<string, LineLimit>();

  constructor(private readonly logger: Logger) {}

  /** Nest passes the context last; an object as the message holds fields, unless it is an error. */
  private writer(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal') {
    return (message: string | object, ...rest: unknown[]): void => {
      const context = rest.at(-1);
      const isTold = level === 'error' && THROW_AS_WELL.has(String(context));
      const quiet = isTold || (level === 'info' && NEST_CONTEXTS.has(String(context)));
      const at = quiet ? 'debug' : level;
      if ((at === 'error' || at === 'warn') && !this.limitOf(at, String(context)).admits()) return;
      if (typeof message === 'string') this.logger[at]({ context }, message);
      else this.logger[at]({ context, ...(isError(message) ? { err: message } : message) });
    };
  }

  /** Lines that every request causes, while the database is away or in a flood of bad requests, must not fill the disk. */
  private limitOf(level: 'error' | 'warn', context: string): LineLimit {
    const key = `${level} ${context}`;
    const limit =
      this.limits.get(key) ?? new LineLimit((left) => this.logger[level]({ context, left_out: left }));
    this.limits.set(key, limit);
    return limit;
  }
}
