import { hash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ServiceKey, ServiceRight } from '../../config/secrets/service-key.js';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';

/** Holder of a service key. */
export interface KeyHolder {
  /** Name of the key. */
  readonly name: string;
  readonly rights: ReadonlySet<ServiceRight>;
}

/** Service keys (contract §2, SERVICE_KEYS). */
@Injectable()
export class ServiceKeys {
  private readonly keys: readonly (Omit<ServiceKey, 'key'> & { readonly hash: Buffer })[];

  constructor(@Inject(SETTINGS) settings: Settings) {
    this.keys = settings.serviceKeys.map(({ key, ...rest }) => ({
      ...rest,
      hash: hash('sha256', key, 'buffer'),
    }));
  }

  /**
   * Finds a service key, in constant time. A key that is listed several times has all its rights, and its first name.
   * @returns undefined if the text is no key
   */
  find(text: string): KeyHolder | undefined {
    const given = hash('sha256', text, 'buffer');
    const found = this.keys.filter(({ hash: known }) => timingSafeEqual(known, given));
    const [first] = found;
    return first && { name: first.name, rights: new Set(found.flatMap(({ rights }) => rights)) };
  }
}
