import { Injectable, type PipeTransform } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { UUID } from '../http/uuid.js';

/** A device id from the path, in lower case. Text that is not a UUID names no device. */
@Injectable()
export class DeviceIdPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!UUID.test(value)) throw new OAuthError('not_found', 'there is no such device');
    return value.toLowerCase();
  }
}
