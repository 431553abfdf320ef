import { Injectable } from '@nestjs/common';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import { DeviceCodes, readUserCode } from './codes.js';
import type { DeviceRequest } from './device-request.entity.js';
import { DeviceRequestStore } from './device-request.store.js';

/** Looks codes up that people type. */
@Injectable()
export class UserCodes {
  constructor(
    private readonly codes: DeviceCodes,
    private readonly requests: DeviceRequestStore,
    private readonly limits: RateLimits,
  ) {}

  /**
   * Finds the request of a code.
   * @param text as it was typed
   * @param isFor whether the caller may decide on a request
   * @returns undefined if it is wrong, which counts, or cannot be a code
   * @throws OAuthError `slow_down` after too many wrong codes
   */
  async find(
    text: string,
    ip: string | undefined,
    isFor: (request: DeviceRequest) => boolean = () => true,
  ): Promise<DeviceRequest | undefined> {
    await this.refuseExceeded(ip);
    const userCode = readUserCode(text);
    if (userCode === undefined) return undefined; // it guesses nothing
    const found = await this.requests.findOpen({ userCodeHash: this.codes.hashUserCode(userCode) });
    if (found && isFor(found)) {
      // again: of many guesses at one time, a right one beyond the limit must not succeed
      await this.refuseExceeded(ip);
      return found;
    }
    await this.limits.count('user_code', ip);
    return undefined;
  }

  private async refuseExceeded(ip: string | undefined): Promise<void> {
    if (await this.limits.isExceeded('user_code', ip)) await this.limits.count('user_code', ip);
  }
}
