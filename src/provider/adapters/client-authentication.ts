import { ClientSecretPost, type ClientAuth } from 'openid-client';
import type { ProviderSettings } from '../../config/settings/settings.js';

type Method = 'client_secret_basic' | 'client_secret_post';

/** Sends the client secret (RFC 6749 §2.3.1) as the setting `token_endpoint_auth_method` says. @param usual without the setting */
export function clientAuthentication(
  { clientSecret, options }: Pick<ProviderSettings, 'clientSecret' | 'options'>,
  usual: Method,
): ClientAuth {
  const method = options['token_endpoint_auth_method'] ?? usual;
  return method === 'client_secret_basic' ? clientSecretBasic(clientSecret) : ClientSecretPost(clientSecret);
}

/**
 * RFC 6749 appendix B requires form encoding. openid-client also encodes `-`, `_`, `.` and `*`, which breaks providers that decode
 * nothing (Glewlwyd, LemonLDAP::NG).
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
