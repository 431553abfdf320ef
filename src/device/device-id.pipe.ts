import { Injectable, type PipeTransform } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A device id of the path, in lower case. What is no UUID is no device either. */
@Injectable()
export class DeviceIdPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!UUID.test(value)) throw new OAuthError('not_found', 'there is no such device');
    return value.toLowerCase();
  }
}
