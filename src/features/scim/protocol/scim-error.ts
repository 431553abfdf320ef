import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { errorCode } from '../../../platform/errors/error-facts.js';
import { OAuthError, toServerError } from '../../../platform/errors/oauth-error.js';
import { ERROR_SCHEMA, MEDIA_TYPE } from './schemas.js';

declare module 'express-serve-static-core' {
  interface Locals {
    /** Why a request of a directory was refused. */
    scimError?: Pick<ScimError, 'message' | 'scimType'>;
  }
}

/** RFC 7644 §3.12, table 9. */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany'
  | 'uniqueness';

/** Error for a directory. `message` is sent; it quotes no input. */
export class ScimError extends Error {
  override readonly name = 'ScimError';

  constructor(
    readonly status: number,
    message: string,
    readonly scimType?: ScimType,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

export function invalid(scimType: ScimType, message: string): ScimError {
  return new ScimError(400, message, scimType);
}

export function notUnique(attribute: 'userName' | 'externalId'): ScimError {
  return new ScimError(409, `${attribute} is already in use`, 'uniqueness');
}

export function noResource(): ScimError {
  return new ScimError(404, 'there is no such resource');
}

const UNIQUE_VIOLATION = '23505';

/** Writes all errors of the paths below `/scim/v2` as RFC 7644 §3.12 says. */
@Catch()
export class ScimErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Scim');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    const error = toScimError(thrown);
    const { status, message, scimType, headers } = error;
    const entry = { request_id: http.getRequest<Request>().id, err: thrown };
    if (status >= 500) this.logger.error(entry);
    else this.logger.debug(entry);
    response.locals.error = scimType ?? String(status);
    response.locals.scimError = error;
    if (response.headersSent) {
      response.destroy(); // a partial answer must not look complete
      return;
    }
    response.status(status).set(headers).set('Cache-Control', 'no-store').type(MEDIA_TYPE);
    const body = { schemas: [ERROR_SCHEMA], status: String(status), ...(scimType && { scimType }) };
    response.send(JSON.stringify({ ...body, detail: message }));
  }
}

function toScimError(thrown: unknown): ScimError {
  if (thrown instanceof ScimError) return thrown;
  // Of two requests at one time, the second one meets the index.
  if (errorCode(thrown) === UNIQUE_VIOLATION) return notUnique('userName');
  const error = thrown instanceof OAuthError ? thrown : toServerError(thrown);
  const scimType = error.error === 'invalid_request' ? 'invalidSyntax' : undefined;
  return new ScimError(error.status, error.description, scimType, error.headers);
}
