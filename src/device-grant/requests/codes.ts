import { createHmac, hash, randomBytes, randomInt } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { networkOf, widerNetworkOf } from '../../http/network.js';

/** RFC 8628 §6.1: no vowels, so no words, and no letters that look alike. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LENGTH = 8;

/** A user code as people may type it: any case, with any punctuation and blanks between the letters. */
const TYPED = /^[\p{P}\p{Z}]*(?:[A-Za-z][\p{P}\p{Z}]*){8}$/u;
const LONGEST_TYPED = 64;

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

/** @returns eight capital letters; undefined if a text cannot be a user code (RFC 8628 §6.1) */
export function readUserCode(text: string): string | undefined {
  if (text.length > LONGEST_TYPED || !TYPED.test(text)) return undefined;
  return text.replace(/[^A-Za-z]/g, '').toUpperCase();
}

/** As it is shown: `BDFH-JLNP`. */
export function showUserCode(userCode: string): string {
  return `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
}
