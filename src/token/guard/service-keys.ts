import { hash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ServiceRight } from '../../platform/config/secrets/service-key.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';

export interface KeyHolder {
  readonly name: string;
  readonly rights: ReadonlySet<ServiceRight>;
}

/** Service keys (docs/production.md#service-keys). */
@Injectable()
export class ServiceKeys {
  private readonly keys: readonly { readonly hash: Buffer; readonly holder: KeyHolder }[];

  constructor(@Inject(SETTINGS) { serviceKeys }: Settings) {
    this.keys = serviceKeys.map(({ key, name }) => {
      const same = serviceKeys.filter((other) => other.key === key);
      const rights = new Set(same.flatMap((other) => other.rights));
      return { hash: hash('sha256', key, 'buffer'), holder: { name, rights } };
    });
  }

  /**
   * Finds a service key, in constant time. A key that is listed several times has all its rights, and its
   * first name.
   * @returns undefined if the text is no key
   */
  find(text: string): KeyHolder | undefined {
    const presented = hash('sha256', text, 'buffer');
    const [found] = this.keys.filter(({ hash: known }) => timingSafeEqual(known, presented));
    return found?.holder;
  }
}
