import { createHash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';

/** The keys of server-to-server calls (contract §2, SERVICE_KEYS). */
@Injectable()
export class ServiceKeys {
  private readonly hashes: readonly Buffer[];

  constructor(@Inject(SETTINGS) settings: Settings) {
    this.hashes = settings.serviceKeys.map(hash);
  }

  /** Whether a text is one of them; takes the same time whichever it resembles. */
  includes(text: string): boolean {
    const given = hash(text);
    return this.hashes.reduce((found, key) => timingSafeEqual(key, given) || found, false);
  }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
