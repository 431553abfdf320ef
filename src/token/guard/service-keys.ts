import { createHash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ServiceRight } from '../../config/secrets/service-key.js';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';

/** Service keys (contract §2, SERVICE_KEYS). */
@Injectable()
export class ServiceKeys {
  private readonly keys: readonly { readonly hash: Buffer; readonly rights: readonly ServiceRight[] }[];

  constructor(@Inject(SETTINGS) settings: Settings) {
    this.keys = settings.serviceKeys.map(({ key, rights }) => ({ hash: hash(key), rights }));
  }

  /**
   * Returns the rights of a service key, in constant time. A key that is listed several times has all its rights.
   * @returns undefined if the text is no key
   */
  rightsOf(text: string): ReadonlySet<ServiceRight> | undefined {
    const given = hash(text);
    const found = this.keys.filter(({ hash: known }) => timingSafeEqual(known, given));
    return found.length === 0 ? undefined : new Set(found.flatMap(({ rights }) => rights));
  }
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
