import { createHash, randomBytes } from 'node:crypto';
import type { ProviderSettings } from '../../config/settings/settings.js';
import type { AdapterMemory } from '../provider-adapter.js';

type Options = ProviderSettings['options'];

/** Whether the settings ask for PKCE between the service and the provider. @param usual if they say nothing (contract §2, `pkce`) */
export function usesPkce(options: Options, usual: 'on' | 'off'): boolean {
  return (options['pkce'] ?? usual) === 'on';
}

/** A new challenge: parameters of the authorization request (RFC 7636 §4.3), and what the exchange needs of it. */
export function challenge(): { parameters: Record<string, string>; memory: { codeVerifier: string } } {
  const codeVerifier = randomBytes(32).toString('base64url');
  const code_challenge = createHash('sha256').update(codeVerifier).digest('base64url');
  return { parameters: { code_challenge, code_challenge_method: 'S256' }, memory: { codeVerifier } };
}

/**
 * The verifier as a parameter of the exchange (RFC 7636 §4.5); none if the authorization request had no challenge.
 * @param isOn whether the settings ask for PKCE
 * @throws if a verifier is needed and the state has none
 */
export function verifierOf(memory: AdapterMemory | undefined, isOn: boolean): { code_verifier?: string } {
  const codeVerifier = memory?.['codeVerifier'];
  if (typeof codeVerifier === 'string') return { code_verifier: codeVerifier };
  if (isOn) throw new Error('the sign-in was begun with another adapter or setting');
  return {};
}
