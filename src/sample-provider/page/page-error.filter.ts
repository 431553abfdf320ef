import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';
import { OAuthError } from '../../errors/oauth-error.js';
import { html, type Html } from '../../http/page/html.js';
import { layout, sendPage } from './page.js';

/** Answers every error of the authorization page with a page, never with a redirect. */
@Catch()
export class PageErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(PageErrorFilter.name);

  catch(thrown: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    if (thrown instanceof OAuthError && thrown.status < 500) {
      sendPage(response, thrown.status, invalidRequestPage(thrown.description));
      return;
    }
    this.logger.error({ err: thrown });
    if (response.headersSent) response.destroy();
    else sendPage(response, 500, FAILURE_PAGE);
  }
}

/** Page for a request that must not be redirected (RFC 6749 §4.1.2.1). @param reason fixed text, for developers */
function invalidRequestPage(reason: string): Html {
  return layout(
    'Sign-in is not possible',
    html`<h1>This link does not work</h1>
      <p class="lead">
        The application that sent you here made a mistake in its request. Please go back to it and try again.
      </p>
      <p class="reason">For its developers: <code>${reason}</code></p>`,
  );
}

const FAILURE_PAGE = layout(
  'Something went wrong',
  html`<h1>Something went wrong</h1>
    <p class="lead">This is our fault, not yours. Please go back and try again in a moment.</p>`,
);
