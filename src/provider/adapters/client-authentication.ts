import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { readClientKey } from '../../platform/config/providers/client-key.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';

/** Seconds for which an assertion is valid: it is sent at once, but clocks differ. */
const ASSERTION_SECONDS = 300;
/** https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
const APPLE = 'https://appleid.apple.com';

/**
 * Authenticates the client (RFC 6749 §2.3) as the setting `token_endpoint_auth_method` says.
 * @param form is added to
 * @param usual without the setting
 * @returns headers of the request
 */
export async function authenticate(
  provider: ProviderSettings,
  server: { readonly issuer: string; readonly token_endpoint?: string },
  form: URLSearchParams,
  usual: 'client_secret_basic' | 'client_secret_post',
): Promise<Record<string, string>> {
  const { clientId, clientSecret, options } = provider;
  const method = options['token_endpoint_auth_method'] ?? usual;
  if (options['team_id'] !== undefined) {
    // Apple's is an assertion
    form.set('client_secret', await assertion(provider, options['team_id'], APPLE));
  } else if (method === 'client_secret_basic') {
    return { Authorization: basic(clientId, clientSecret) };
  } else if (method === 'private_key_jwt') {
    // RFC 7523 §2.2, §3; OpenID Connect Core §9
    const isEndpoint = options['client_assertion_audience'] === 'token_endpoint';
    const audience = (isEndpoint && server.token_endpoint) || server.issuer;
    form.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    form.set('client_assertion', await assertion(provider, clientId, audience));
  } else if (method !== 'none') {
    form.set('client_secret', clientSecret);
  }
  form.set('client_id', clientId);
  return {};
}

/** @throws if the settings have no key */
async function assertion(provider: ProviderSettings, issuer: string, audience: string): Promise<string> {
  const { name, clientId, clientKey = '', options } = provider;
  const read = readClientKey(clientKey);
  if (!read) throw new Error(`providers.${name}.client_key is unset or unusable`);
  const kid = options['client_key_id'];
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ jti: randomUUID() })
    .setProtectedHeader({ typ: 'JWT', ...read.header, ...(kid !== undefined && { kid }) })
    .setIssuer(issuer)
    .setSubject(clientId)
    .setAudience(audience)
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + ASSERTION_SECONDS)
    .sign(read.key);
}

/** RFC 6749 appendix B, encoded as little as it allows: Glewlwyd and LemonLDAP::NG decode nothing. */
function basic(clientId: string, clientSecret: string): string {
  const credentials = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
