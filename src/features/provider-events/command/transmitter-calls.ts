import { clientCredentialsGrant } from 'openid-client';
import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { configure, discover, withoutSecrets } from '../../../provider/adapters/oidc-client.js';
import { accessTokenIn } from '../../../provider/adapters/used-members.js';
import { badAnswer } from '../../../provider/transport/provider-answer.js';
import type { ProviderHttp, ProviderRequest } from '../../../provider/transport/provider-http.js';

/** CAEP Interoperability Profile 1.0 §2.7.3. */
const SCOPE = 'ssf.read ssf.manage';
const CALL_MS = 15_000; // Keycloak pushes a verification event before it answers

/** Gets an access token for the transmitter, by the client of the provider's settings (RFC 6749 §4.4). */
export async function getToken(http: ProviderHttp, provider: ProviderSettings): Promise<string> {
  const configuration = await configure(http, provider, await discover(http, provider));
  const tokens = await clientCredentialsGrant(configuration, { scope: SCOPE }).catch((error: unknown) => {
    throw withoutSecrets(error);
  });
  const token = accessTokenIn(tokens);
  if (token === undefined) throw new Error('the answer of the token endpoint has no access token');
  return token;
}

/** Calls of the stream management (SSF 1.0 §8). */
export class TransmitterCalls {
  constructor(
    private readonly http: ProviderHttp,
    private readonly token: string,
  ) {}

  /**
   * Sends a request.
   * @param body JSON
   * @returns the JSON of the answer; undefined without JSON
   * @throws an error with `call` if the status is not 2xx
   */
  async send(method: ProviderRequest['method'], url: string, body?: object): Promise<unknown> {
    const signal = AbortSignal.timeout(CALL_MS);
    const request = {
      url,
      signal,
      headers: { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' },
      ...(method !== undefined && { method }),
      ...(body && { body: JSON.stringify(body) }),
    };
    const answer = await this.http.send(request).catch((error: unknown) => {
      const late = new Error(`no answer within ${CALL_MS / 1000} s`, { cause: error });
      throw signal.aborted ? late : error;
    });
    if (answer.status >= 200 && answer.status < 300) return parsed(answer.body);
    throw badAnswer('the transmitter refused', answer);
  }
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}
