import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { makeSigningKey, reissue } from '../support/signing-key.js';
import { StubProvider, type ProviderRequest } from '../support/stub-provider.js';

type Part = Record<string, unknown>;

export const TOKEN = 'an access token of the stand-in';

/** A transmitter of Shared Signals (SSF 1.0) that is an OpenID provider, too. Tests change what it says. */
export class StandInTransmitter {
  readonly key = makeSigningKey('first');
  metadata: Part = {};
  /** By stream_id. */
  streams = new Map<string, Part>();
  status: Part = { status: 'enabled' };
  /** Status and body, in place of the usual answer, by method and path. */
  said: Record<string, readonly [status: number, body: object]> = {};
  /** Called if a verification event is asked for. */
  verify: (state: string) => Promise<void> = () => Promise.resolve();

  private constructor(private readonly stub: StubProvider) {
    stub.answer = (request, response) => void this.answer(request, response);
  }

  static async start(): Promise<StandInTransmitter> {
    return new StandInTransmitter(await StubProvider.start());
  }

  get url(): string {
    return this.stub.url;
  }

  /** Requests of one kind, with their bodies. */
  bodiesOf(method: string, path: string): Part[] {
    const all = this.stub.requests.filter((one) => one.method === method && one.path === path);
    return all.map(({ body }) => JSON.parse(body) as Part);
  }

  get calls(): string[] {
    return this.stub.requests.map(({ method, path }) => `${method} ${path}`);
  }

  tokenForm(): URLSearchParams {
    return new URLSearchParams(this.stub.requests.find(({ path }) => path === '/token')?.body);
  }

  /** A security event token. */
  set(events: Part, claims: Part = {}): string {
    const usual = { iss: this.url, jti: randomUUID(), iat: Math.floor(Date.now() / 1000), events };
    const header = { alg: 'ES256', kid: 'first', typ: 'secevent+jwt' };
    return reissue('e30.e30.', this.key, { ...usual, ...claims }, header);
  }

  reset(): void {
    this.stub.requests.length = 0;
    this.streams.clear();
    this.status = { status: 'enabled' };
    this.verify = () => Promise.resolve();
    Object.assign(this, { metadata: {}, said: {} });
  }

  close(): Promise<void> {
    return this.stub.close();
  }

  private async answer(request: ProviderRequest, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.path, this.url);
    const [status, body] =
      this.said[`${request.method} ${pathname}`] ?? (await this.usual(request, pathname));
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  }

  private async usual({ method, body }: ProviderRequest, path: string): Promise<readonly [number, object]> {
    const sent = (): Part => JSON.parse(body) as Part;
    switch (`${method} ${path}`) {
      case 'GET /.well-known/openid-configuration':
        return [200, { issuer: this.url, token_endpoint: `${this.url}/token`, jwks_uri: `${this.url}/jwks` }];
      case 'GET /.well-known/ssf-configuration':
        return [200, { ...documentOf(this.url), ...this.metadata }];
      case 'GET /jwks':
        return [200, { keys: [{ ...this.key.jwk, d: undefined }] }];
      case 'POST /token':
        return [200, { access_token: TOKEN, token_type: 'Bearer' }];
      case 'GET /streams':
        return [200, [...this.streams.values()]];
      case 'POST /streams':
        return [201, this.write(`s${this.streams.size + 1}`, sent())];
      case 'PATCH /streams':
      case 'PUT /streams':
        return [200, this.write(sent()['stream_id'] as string, sent())];
      case 'GET /status':
        return [200, this.status];
      case 'POST /verify':
        await this.verify(sent()['state'] as string);
        return [204, {}];
      default:
        return [404, {}];
    }
  }

  private write(id: string, sent: Part): Part {
    const usual = { stream_id: id, iss: this.url, events_delivered: sent['events_requested'] };
    const stream = { ...usual, ...this.streams.get(id), ...sent };
    this.streams.set(id, stream);
    return stream;
  }
}

function documentOf(issuer: string): Part {
  return {
    issuer,
    spec_version: '1_0',
    jwks_uri: `${issuer}/jwks`,
    delivery_methods_supported: ['urn:ietf:rfc:8935'],
    configuration_endpoint: `${issuer}/streams`,
    status_endpoint: `${issuer}/status`,
    verification_endpoint: `${issuer}/verify`,
  };
}
