import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ERROR_STATUS, OAuthError } from '../../platform/errors/oauth-error.js';
import { OAuthErrorFilter } from '../../platform/http/errors/oauth-error.filter.js';
import { html } from '../../platform/http/page/html.js';
import { layout, renderPage, type Page } from '../../platform/http/page/layout.js';
import { ProviderRefusal } from '../../provider/transport/provider-answer.js';
import { ErrorForClient } from './client-request.js';
import { UNFRAMED } from './send-next.js';

/**
 * Redirects errors for the client to it, and shows all others in the browser (docs/stock-clients.md#errors).
 */
@Catch()
export class ClientErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(ClientErrorFilter.name);
  private readonly shown: OAuthErrorFilter;

  /** @param isOfBrowser whether a request may get a page; all others get JSON */
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
    const entry = { request_id: request.id, msg: `error for the client: ${error}`, err: cause };
    if (cause === undefined) this.logger.debug(entry);
    else if (isRefusal(cause)) this.logger.warn(entry);
    else this.logger.error(entry);
    response.locals.error = error;
    response.status(302).setHeader('Location', address).end();
  }
}

/** A user can cause refusals by the provider, so they are warnings and not errors. */
function isRefusal(cause: unknown): boolean {
  return cause instanceof ProviderRefusal || (cause instanceof OAuthError && cause.status < 500);
}

/** 400 instead of 401, which would ask the browser for credentials (RFC 9110 §15.5.2). */
function showPage(error: OAuthError, response: Response): void {
  const wayBack = response.locals['wayBack'] as string | undefined; // of the callback's controller
  const text = renderPage(response, errorPage(error, wayBack), ...UNFRAMED);
  response.status(error.error === 'invalid_grant' ? 400 : error.status).send(text);
}

/** Page for the user if the browser must not be redirected to the client (RFC 6749 §4.1.2.1). */
function errorPage({ error, status, description }: OAuthError, wayBack: string | undefined): Page {
  const link =
    wayBack &&
    html`<ul class="choices">
      <li><a href="${wayBack}">Back to ${new URL(wayBack).host}</a></li>
    </ul>`;
  const isTemporary = status >= 500 || status === 429;
  const content = isTemporary
    ? html`<h1>Sign-in is not possible right now</h1>
        <p class="lead">Please go back to the application and try again in a moment.</p>
        ${link}`
    : html`<h1>This sign-in cannot go on</h1>
        <p class="lead">${error === 'invalid_grant' ? OVER : sentenceFor(description)}</p>
        ${link}
        <p class="reason">For its developers: <code>${description}</code>. ${cureFor(description)}</p>`;
  return layout({ title: 'Sign-in is not possible', brand: 'Sign in' }, content);
}

const OVER =
  'It may have been finished already, or have taken too long. Please go back to the application and begin again.';
const INCORRECT =
  'The application asked for it in a way that is not complete or not allowed. If you begin again and come back here, please tell its developers.';

const NO_RETURN =
  'The application has not said where to return to after the sign-in. If you begin again and come back here, please tell its developers.';
const WRONG_RETURN =
  'It would have sent you on to an address that is not allowed here. If you came by a link in a message, close this page. Otherwise please tell the developers of the application.';

function sentenceFor(description: string): string {
  if (!description.startsWith('redirect_uri ')) return INCORRECT;
  return description.endsWith('is required') ? NO_RETURN : WRONG_RETURN;
}

/** Advice for developers; the parameters are in the address of the page. */
function cureFor(description: string): string {
  if (/^\w+ is required$/.test(description)) return 'Add this parameter to the address of this page.';
  if (description.endsWith('allow-list')) return 'Add it to REDIRECT_URIS in the settings of the service.';
  if (/^\w+ must be /.test(description)) return 'Correct this parameter in the address of this page.';
  return '';
}
