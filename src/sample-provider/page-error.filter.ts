import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';
import { OAuthError } from '../errors/oauth-error.js';
import { failurePage, invalidRequestPage } from './page/error-page.js';
import { sendPage } from './page/send-page.js';

/** Shows every error of the authorization page to the person in front of it, and never redirects. */
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
    else sendPage(response, 500, failurePage());
  }
}
