import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { isObject } from '../../../platform/http/parameters/json.js';
import { discover, OidcClient } from '../../../provider/adapters/oidc-client.js';
import { badAnswer, findCall } from '../../../provider/transport/provider-answer.js';
import type { ProviderHttp, ProviderRequest } from '../../../provider/transport/provider-http.js';
import { PUSH, textsIn } from '../verify/transmitter.js';

/** CAEP Interoperability Profile 1.0 §2.7.3. */
const SCOPE = 'ssf.read ssf.manage';
const CALL_MS = 15_000; // Keycloak pushes a verification event before it answers

/** Of transmitters from before SSF 1.0. */
const FORMER_PUSH = 'https://schemas.openid.net/secevent/risc/delivery-method/push';

/** Stream at the transmitter (SSF 1.0 §8.1.1), as far as this service uses it. */
export interface Stream {
  readonly id: string;
  readonly isPushed: boolean;
  readonly endpoint: string | undefined;
  readonly audience: readonly string[];
  readonly requested: readonly string[];
  /** Undefined: the transmitter does not say. */
  readonly delivered: readonly string[] | undefined;
}

/** What the service asks of a stream. */
export interface Wanted {
  readonly endpoint: string;
  readonly events: readonly string[];
}

/** Gets an access token for the transmitter, by the client of the provider's settings (RFC 6749 §4.4). */
export async function getToken(http: ProviderHttp, provider: ProviderSettings): Promise<string> {
  const metadata = await discover(http, provider);
  const client = new OidcClient(http, provider, metadata, AbortSignal.timeout(CALL_MS));
  const parameters = { grant_type: 'client_credentials', scope: SCOPE };
  const { accessToken } = await client.requestTokens(parameters);
  if (accessToken === undefined) throw new Error('the answer of the token endpoint has no access token');
  return accessToken;
}

/** Calls of the stream management (SSF 1.0 §8). Each throws an error with `call` if the status is not 2xx. */
export class StreamCalls {
  constructor(
    private readonly http: ProviderHttp,
    private readonly token: string,
  ) {}

  /** @param url of the configuration endpoint, as for `write` */
  async list(url: string): Promise<readonly Stream[]> {
    try {
      return [await this.send('GET', url)].flat().map(readStream);
    } catch (error) {
      if (findCall(error)?.status === 404) return [];
      throw error;
    }
  }

  /** Creates a stream, or updates one. @param id of the stream to update */
  async write(url: string, { endpoint, events }: Wanted, id?: string): Promise<Stream> {
    const wanted = { delivery: { method: PUSH, endpoint_url: endpoint }, events_requested: events };
    if (id === undefined)
      return readStream(await this.send('POST', url, { ...wanted, description: 'Latchkey' }));
    const body = { stream_id: id, ...wanted };
    const answer = await this.send('PATCH', url, body).catch((error: unknown) => {
      // some transmitters know PUT only
      if ([404, 405, 501].includes(findCall(error)?.status ?? 0)) return this.send('PUT', url, body);
      throw error;
    });
    return readStream(answer);
  }

  async readStatus(
    url: string,
    id: string,
  ): Promise<{ readonly status?: unknown; readonly reason?: unknown }> {
    const address = new URL(url);
    address.searchParams.set('stream_id', id);
    return (await this.send('GET', address.href)) ?? {};
  }

  async requestVerification(url: string, id: string, state: string): Promise<void> {
    await this.send('POST', url, { stream_id: id, state });
  }

  /** @returns the JSON of the answer; undefined without JSON */
  private async send(method: NonNullable<ProviderRequest['method']>, url: string, body?: object) {
    const signal = AbortSignal.timeout(CALL_MS);
    const headers = { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' };
    const request = { method, url, signal, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await this.http.send(request).catch((error: unknown) => {
      const late = new Error(`no answer within ${CALL_MS / 1000} s`, { cause: error });
      throw signal.aborted ? late : error;
    });
    if (answer.status < 200 || answer.status > 299) throw badAnswer('the transmitter refused', answer);
    return parseJson(answer.body);
  }
}

/** Whether a stream needs no update. */
export function isCurrent({ isPushed, endpoint, requested }: Stream, wanted: Wanted): boolean {
  return (
    isPushed && endpoint === wanted.endpoint && wanted.events.every((event) => requested.includes(event))
  );
}

function readStream(body: unknown): Stream {
  if (!isObject(body) || typeof body['stream_id'] !== 'string') {
    throw new Error('the transmitter answered with something that is not a stream');
  }
  const delivery = isObject(body['delivery']) ? body['delivery'] : {};
  const { method, endpoint_url: endpoint } = delivery;
  const { events_delivered: delivered } = body;
  return {
    id: body['stream_id'],
    isPushed: method === PUSH || method === FORMER_PUSH,
    endpoint: typeof endpoint === 'string' ? endpoint : undefined,
    audience: textsIn([body['aud']].flat()),
    requested: textsIn(body['events_requested']),
    delivered: delivered === undefined ? undefined : textsIn(delivered),
  };
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}
