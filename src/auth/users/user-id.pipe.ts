import { OAuthError } from '../../errors/oauth-error.js';
import { UuidPipe } from '../../http/parameters/uuid.js';

export const userIdPipe = new UuidPipe(() => new OAuthError('invalid_request', 'user_id must be a UUID'));

export function noSuchUser(): OAuthError {
  return new OAuthError('not_found', 'there is no such user, device or session');
}
