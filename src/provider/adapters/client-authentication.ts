import { ClientSecretPost, type ClientAuth } from 'openid-client';
import type { ProviderSettings } from '../../config/settings/settings.js';

type Method = 'client_secret_basic' | 'client_secret_post';

/**
 * How the client secret is sent to a provider (RFC 6749 §2.3.1): as the setting `token_endpoint_auth_method` says.
 *
 * @param usual the method where the settings name none
 */
export function clientAuthentication(
  { clientSecret, options }: Pick<ProviderSettings, 'clientSecret' | 'options'>,
  usual: Method,
): ClientAuth {
  const method = options['token_endpoint_auth_method'] ?? usual;
  return method === 'client_secret_basic' ? clientSecretBasic(clientSecret) : ClientSecretPost(clientSecret);
}

/**
 * openid-client's own also encodes `-`, `_`, `.` and `*`, so that providers that decode nothing (Glewlwyd, LemonLDAP::NG)
 * see another id. RFC 6749 appendix B asks for no more than form encoding.
 */
function clientSecretBasic(clientSecret: string): ClientAuth {
  return (_server, { client_id: clientId }, _form, headers) => {
    const credentials = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
    headers.set('Authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

/** application/x-www-form-urlencoded of UTF-8: letters, digits and `*-._` stay, a space becomes `+`. */
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
