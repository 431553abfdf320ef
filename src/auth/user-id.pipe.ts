import { Injectable, type PipeTransform } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { UUID } from '../http/uuid.js';

/** A user id from the path, in lower case. */
@Injectable()
export class UserIdPipe implements PipeTransform<string, string> {
  /** @throws OAuthError `invalid_request`: unlike a device's id, it was not made up by a client */
  transform(value: string): string {
    if (!UUID.test(value)) throw new OAuthError('invalid_request', 'user_id must be a UUID');
    return value.toLowerCase();
  }
}
