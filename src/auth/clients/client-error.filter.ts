import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ERROR_STATUS, OAuthError } from '../../errors/oauth-error.js';
import { OAuthErrorFilter } from '../../http/errors/oauth-error.filter.js';
import { setPageHeaders } from '../../http/page/page-headers.js';
import { ProviderRefusal } from '../../provider/transport/provider-answer.js';
import { ErrorForClient } from './error-for-client.js';
import { errorPage } from './error-page.js';
import { UNFRAMED } from './unframed.js';

/** Errors where a stock client's browser is: what the client may know goes to the client, all else is shown (contract §4). */
@Catch()
export class ClientErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(ClientErrorFilter.name);
  private readonly shown: OAuthErrorFilter;

  /** @param isOfBrowser whether a request is one of a browser on its way; all others get JSON, as everywhere */
  constructor(isOfBrowser: (request: Request) => boolean) {
    this.shown = new OAuthErrorFilter(ERROR_STATUS, (error, request, response) => {
      if (!isOfBrowser(request) || request.accepts(['json', 'html']) !== 'html') return false;
      showPage(error, response);
      return true;
    });
  }

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    if (!(thrown instanceof ErrorForClient)) return this.shown.answer(thrown, request, response);
    const { error, address, cause } = thrown;
    const entry = {
      request_id: request.id,
      msg: `a client is told: ${error}`,
      ...(cause !== undefined && { err: cause }),
    };
    if (cause === undefined) this.logger.debug(entry);
    else if (isRefusal(cause)) this.logger.warn(entry);
    else this.logger.error(entry);
    response.locals.error = error;
    response.status(302).setHeader('Location', address).end();
  }
}

/** The provider said no, which whoever holds the browser can bring about: no fault that somebody must be woken for. */
function isRefusal(cause: unknown): boolean {
  return cause instanceof ProviderRefusal || (cause instanceof OAuthError && cause.status < 500);
}

/** 400 for whatever is wrong with the request: 401 would ask the browser for credentials (RFC 9110 §15.5.2). */
function showPage(error: OAuthError, response: Response): void {
  setPageHeaders(response, ...UNFRAMED);
  response.status(error.error === 'invalid_grant' ? 400 : error.status).send(errorPage(error).text);
}
