import type { LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';

// What Nest tells about itself at every start: of interest to whoever works on the service only.
const NEST_CONTEXTS = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);
// Tells, without a message, of what it throws all the same: of a start that is tried again, or that main.ts tells of.
const THROWS_AS_WELL = 'ExceptionHandler';

/** The log of the whole service, on standard output: one JSON object a line, or text for a person at a terminal. */
export function createLog(level: string, destination: DestinationStream = standardOutput()): Logger {
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

function standardOutput(): DestinationStream {
  return process.stdout.isTTY ? pretty({ sync: true, translateTime: 'HH:MM:ss' }) : pino.destination(1);
}

/**
 * An error without what hangs on it: axios errors carry the form with the client secret, PostgreSQL's carry rows.
 * Name, code, message and stack of it and its causes are enough to find the fault.
 */
export function describeError(error: unknown): object {
  if (typeof error !== 'object' || error === null) return { message: 'not an error' };
  const { name, code, message, stack, cause } = error as Record<string, unknown>;
  return {
    name,
    message,
    stack,
    ...(typeof code === 'string' && { code }),
    ...(cause !== undefined && { cause: describeError(cause) }),
  };
}

/** Lets Nest, and every `new Logger(context)` in the service, write into it. */
export class NestLog implements LoggerService {
  readonly log = this.writer('info');
  readonly error = this.writer('error');
  readonly warn = this.writer('warn');
  readonly debug = this.writer('debug');
  readonly verbose = this.writer('trace');
  readonly fatal = this.writer('fatal');

  constructor(private readonly logger: Logger) {}

  /** Nest passes the context last; an object as the message holds fields. */
  private writer(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal') {
    return (message: string | object, ...rest: unknown[]): void => {
      const context = rest.at(-1);
      const quiet = context === THROWS_AS_WELL || (level === 'info' && NEST_CONTEXTS.has(String(context)));
      const at = quiet ? 'debug' : level;
      if (typeof message === 'string') this.logger[at]({ context }, message);
      else this.logger[at]({ context, ...message });
    };
  }
}
