import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { ClientSecretPost, None, type ClientAuth } from 'openid-client';
import { readClientKey } from '../../platform/config/providers/client-key.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';

type Method = 'client_secret_basic' | 'client_secret_post';
/** As `ClientAuth`, whose type does not say that a promise is awaited. */
type Authentication = (...args: Parameters<ClientAuth>) => void | Promise<void>;

/** Seconds for which an assertion is valid: it is sent at once, but clocks differ. */
const ASSERTION_SECONDS = 300;
/** https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
const APPLE = 'https://appleid.apple.com';

/**
 * Authenticates the client (RFC 6749 §2.3) as the setting `token_endpoint_auth_method` says.
 * @param usual without the setting
 */
export function clientAuthentication(provider: ProviderSettings, usual: Method): Authentication {
  const { clientSecret, options } = provider;
  if (options['team_id'] !== undefined) return appleSecret(provider, options['team_id']);
  switch (options['token_endpoint_auth_method'] ?? usual) {
    case 'client_secret_basic':
      return clientSecretBasic(clientSecret);
    case 'private_key_jwt':
      return privateKeyJwt(provider);
    case 'none':
      return None();
    default:
      return ClientSecretPost(clientSecret);
  }
}

/** RFC 7523 §2.2, §3; OpenID Connect Core §9. */
function privateKeyJwt(provider: ProviderSettings): Authentication {
  return async (server, { client_id: clientId }, form) => {
    const isEndpoint = provider.options['client_assertion_audience'] === 'token_endpoint';
    const audience = (isEndpoint && server.token_endpoint) || server.issuer;
    form.set('client_id', clientId);
    form.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    form.set('client_assertion', await assertion(provider, clientId, audience));
  };
}

/** The client secret of Apple is an assertion. */
function appleSecret(provider: ProviderSettings, teamId: string): Authentication {
  return async (server, client, form, headers) => {
    const secret = await assertion(provider, teamId, APPLE);
    ClientSecretPost(secret)(server, client, form, headers);
  };
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

/**
 * RFC 6749 appendix B. openid-client also encodes `-`, `_`, `.`, `*`: Glewlwyd and LemonLDAP::NG decode
 * nothing.
 */
function clientSecretBasic(clientSecret: string): ClientAuth {
  return (_server, { client_id: clientId }, _form, headers) => {
    const credentials = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
    headers.set('Authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
