import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';
import { OAuthError } from '../errors/oauth-error.js';

/** Spec §7.3: a provider's statuses are not those of the service itself (§7.2). */
const EXCHANGE_STATUS: Readonly<Record<string, number>> = {
  invalid_request: 400,
  invalid_grant: 400,
  invalid_client: 401,
  server_error: 500,
};

/** Writes the errors of the exchange. All that is no OAuthError is a `server_error` 500 in both tables: the global filter has it. */
@Catch(OAuthError)
export class ExchangeErrorFilter implements ExceptionFilter<OAuthError> {
  private readonly logger = new Logger(ExchangeErrorFilter.name);

  catch(error: OAuthError, host: ArgumentsHost): void {
    this.logger.debug({ err: error });
    const response = host.switchToHttp().getResponse<Response>();
    response
      .status(EXCHANGE_STATUS[error.error] ?? 500)
      .json({ error: error.error, error_description: error.description });
  }
}
