import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ProviderSettings } from '../../src/platform/config/settings/settings.js';

export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  /** As they came: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

type Answer = (request: ProviderRequest, response: ServerResponse, raw: IncomingMessage) => void;

/** Claims of its users that are kept. */
const CLAIMS = ['roles', 'groups', 'plan', 'email', 'name', 'team', 'a', 'b', 'n', 'text'];

/** A provider with answers that tests set. By default every code is valid, and its text is the user's id. */
export class StubProvider {
  readonly requests: ProviderRequest[] = [];
  /** Claims of users, by their ids. */
  readonly claims = new Map<string, object | undefined>();
  private readonly identityOfCode: Answer = ({ body }, response) => {
    const code = new URLSearchParams(body).get('code') ?? '';
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ provider_user_id: code, username: 'Ada', claims: this.claims.get(code) }));
  };
  answer: Answer = this.identityOfCode;

  private constructor(
    readonly url: string,
    private readonly server: ReturnType<typeof createServer>,
  ) {}

  static async start(): Promise<StubProvider> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url: path = '', rawHeaders } = request;
        const seen = { method, path, rawHeaders, body: Buffer.concat(chunks).toString() };
        stub.requests.push(seen);
        stub.answer(seen, response, request);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const stub = new StubProvider(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server);
    return stub;
  }

  /** The variables that make it the provider `name` of a service. */
  env(name = 'STUB'): Record<string, string> {
    return {
      [`PROVIDERS_${name}_URL`]: this.url,
      [`PROVIDERS_${name}_CLIENT_ID`]: 'latchkey',
      [`PROVIDERS_${name}_CLIENT_SECRET`]: 'a client secret of the stub',
      [`PROVIDERS_${name}_CLAIMS`]: CLAIMS.map((claim) => `${claim}=claims.${claim}`).join(','),
    };
  }

  /** Sends browsers back at once, with a code for this user. */
  signInAtOnce(who = (): string => 'ada'): void {
    const identify = this.answer;
    this.answer = (request, response, raw) => {
      if (request.method !== 'GET') return identify(request, response, raw);
      const query = new URL(request.path, this.url).searchParams;
      const callback = `${query.get('redirect_uri')}?code=${who()}&state=${query.get('state')}`;
      response.writeHead(302, { Location: callback }).end();
    };
  }

  /** Back to the default answer, nothing seen. */
  reset(): void {
    this.requests.length = 0;
    this.answer = this.identityOfCode;
  }

  /** Makes it answer every exchange with this. */
  answerWith(status: number, body: unknown, headers: Record<string, string> = {}): void {
    this.answer = (_request, response) => {
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      response.end(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body));
    };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Settings of a provider for tests that need no service. */
export function providerSettings(name: string, more: Partial<ProviderSettings> = {}): ProviderSettings {
  return {
    name,
    adapter: 'x',
    clientId: 'c',
    clientSecret: 's',
    variables: { adapter: `providers.${name}.adapter`, issuer: `providers.${name}.issuer` },
    options: {},
    ...more,
  };
}

/** The variables of several providers, by their names and keys; each has the client of the stub unless its keys say otherwise. */
export function providersEnv(
  providers: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Record<string, string> {
  const client = { client_id: 'latchkey', client_secret: 'a client secret of the stub' };
  const variables = Object.entries(providers).flatMap(([name, keys]) =>
    Object.entries({ ...client, ...keys }).map(([key, value]) => [`providers.${name}.${key}`, value]),
  );
  return Object.fromEntries(variables) as Record<string, string>;
}
