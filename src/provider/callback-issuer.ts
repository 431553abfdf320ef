import { Logger } from '@nestjs/common';
import type { ProviderSettings } from '../config/settings/settings.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { ProviderRefusal } from './transport/provider-answer.js';

const logger = new Logger('CallbackIssuer');

/**
 * Judges `iss` of a callback, before its code is sent anywhere (contract §6; RFC 9207 §2.4): in a mix-up attack another
 * server made the code, and this provider would learn it (RFC 9700 §4.4). Compared as an exact string.
 *
 * @throws ProviderRefusal `invalid_grant` when it names another server, or when it is not known what it must be
 */
export async function checkIssuer(
  adapter: ProviderAdapter,
  provider: ProviderSettings,
  iss: string,
): Promise<void> {
  if (adapter.issuer === 'own') return;
  const expected: unknown = (await adapter.issuer?.(provider)) ?? provider.issuer;
  if (expected === undefined) {
    const { name, variables } = provider;
    logger.warn(
      `a callback of provider ${name} has an iss, and was refused: set ${variables.issuer} to what it must be`,
    );
    throw new ProviderRefusal('invalid_grant', 'the issuer of the callback cannot be judged');
  }
  if (typeof expected !== 'string') throw new Error('the adapter has an issuer that is not text');
  if (iss !== expected) throw new ProviderRefusal('invalid_grant', 'the callback names another issuer');
}
