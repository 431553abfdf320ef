import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';

/** The log of the whole service: one JSON object a line, on standard output unless told otherwise. */
export function createLog(level: string, destination: DestinationStream = pino.destination(1)): Logger {
  return pino({ level, base: null, serializers: { err: describeError } }, destination);
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
  constructor(private readonly logger: Logger) {}

  log = this.writer('info');
  error = this.writer('error');
  warn = this.writer('warn');
  debug = this.writer('debug');
  verbose = this.writer('trace');
  fatal = this.writer('fatal');

  /** Nest passes the context last; an object as the message holds fields. */
  private writer(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal') {
    return (message: unknown, ...rest: unknown[]): void => {
      const context = rest.at(-1);
      if (typeof message === 'object') this.logger[level]({ context, ...message });
      else this.logger[level]({ context }, String(message));
    };
  }
}
