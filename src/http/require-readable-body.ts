import type { RequestHandler } from 'express';
import { OAuthError } from '../errors/oauth-error.js';

/** A body that no parser knew is no body of ours; without one, the DTO says what is missing (contract §3). */
export const requireReadableBody: RequestHandler = (request, _response, next) => {
  const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
  const sent = chunked !== undefined || (length !== undefined && length !== '0');
  if (!sent || request.body !== undefined) next();
  else next(new OAuthError('invalid_request', 'the body must be a JSON object or a form'));
};
