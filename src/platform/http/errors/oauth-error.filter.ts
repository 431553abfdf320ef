import { Catch, HttpException, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { allowedMethods } from '../server/route-table.js';
import { OAuthError, type StatusTable, toServerError } from '../../errors/oauth-error.js';

/** A static file has set these before it could not be sent, as for a range behind its end. */
const OF_FILES = ['Content-Encoding', 'ETag'];

/** Writes all errors (spec §7.1) of requests that reach Express (else refusal.ts). Causes are only logged. */
@Catch()
export class OAuthErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(OAuthErrorFilter.name);

  /** @param show answers in another form, and returns whether it has */
  constructor(
    private readonly statuses: StatusTable,
    private readonly show?: (error: OAuthError, request: Request, response: Response) => boolean,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(thrown, http.getRequest<Request>(), http.getResponse<Response>());
  }

  /** Answers as `catch` does, for other filters. */
  answer(thrown: unknown, request: Request, response: Response): void {
    const error = toOAuthError(thrown, request);
    const entry = { request_id: request.id, err: error };
    if (error.status >= 500) this.logger.error(entry);
    else this.logger.debug(entry);
    response.locals.error = error.error;
    if (response.headersSent) {
      response.destroy(); // a partial answer must not look complete
      return;
    }
    for (const name of OF_FILES) response.removeHeader(name);
    response
      .status(error.ownStatus ?? this.statuses[error.error])
      .set(error.headers)
      .set('Cache-Control', 'no-store');
    if (this.show?.(error, request, response)) return;
    response.type('json'); // a static file may have set another type
    response.json(error.body);
  }
}

function toOAuthError(thrown: unknown, request: Request): OAuthError {
  if (thrown instanceof OAuthError) return thrown;
  const status = statusOf(thrown);
  if (status === 404) return notFound(request);
  if (status >= 400 && status < 500) {
    // Without the cause: parsers quote the input, which must not be logged.
    return new OAuthError('invalid_request', 'the request could not be read');
  }
  return toServerError(thrown);
}

/** Returns the status of an exception of Nest or of Express's router (http-errors). */
function statusOf(thrown: unknown): number {
  if (thrown instanceof HttpException) return thrown.getStatus();
  const status = (thrown as { status?: unknown } | null | undefined)?.status;
  return typeof status === 'number' ? status : 500;
}

function notFound(request: Request): OAuthError {
  const allowed = allowedMethods(request);
  if (allowed.length === 0) return new OAuthError('not_found', 'there is nothing at this path');
  return new OAuthError('method_not_allowed', 'this path has other methods', {
    headers: { Allow: allowed.join(', ') },
  });
}
