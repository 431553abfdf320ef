import { createHmac, hash, randomBytes, randomInt } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { networkOf, widerNetworkOf } from '../../../platform/http/network.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import type { DeviceRequest } from './device-request.entity.js';
import { DeviceRequestStore } from './device-request.store.js';

/** RFC 8628 §6.1: no vowels, so no words, and no letters that look alike. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LENGTH = 8;

const TYPED = /^[A-Za-z]{8}$/;
const LONGEST_TYPED = 64;
/** What people type or paste between letters, and what is not shown: no letters, digits or marks. */
const BESIDE_LETTERS = /[\p{P}\p{S}\p{Z}\p{C}\p{Default_Ignorable_Code_Point}]/gu;

/** Codes and keyed hashes of the device grant. */
@Injectable()
export class DeviceCodes {
  readonly #key: Buffer;

  constructor(@Inject(SETTINGS) { secretKey }: Pick<Settings, 'secretKey'>) {
    this.#key = secretKey.derive('device-grant');
  }

  /** 256 random bits. */
  makeSecret(): string {
    return randomBytes(32).toString('base64url');
  }

  hashSecret(secret: string): Buffer {
    return hash('sha256', secret, 'buffer');
  }

  /** Eight letters: 2.56e10 codes. */
  makeUserCode(): string {
    return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  }

  hashUserCode(userCode: string): Buffer {
    return this.keyed('user-code', userCode);
  }

  /** For a comparison of networks without a stored address. @param ip of the client */
  hashNetwork(ip: string | undefined): Buffer {
    return this.keyed('network', widerNetworkOf(networkOf(ip)));
  }

  private keyed(use: string, text: string): Buffer {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([use, text]))
      .digest();
  }
}

/**
 * Reads a user code as people may type it: in any case and width, with anything but letters and digits.
 * @returns eight capital letters; undefined if a text cannot be a user code (RFC 8628 §6.1)
 */
export function readUserCode(text: string): string | undefined {
  if (text.length > LONGEST_TYPED) return undefined;
  const letters = text.normalize('NFKC').replace(BESIDE_LETTERS, '');
  return TYPED.test(letters) ? letters.toUpperCase() : undefined;
}

/** As it is shown: `BDFH-JLNP`. */
export function showUserCode(userCode: string): string {
  return `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
}

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
