import { createHash, randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ProviderReply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** An object is sent as JSON; `never` sends the head, and never ends. */
  readonly body?: string | object;
}

/** What a broken provider does instead; each may call the good one. */
export interface Faults {
  authorize?: (query: URLSearchParams, good: ContractProvider, cookie?: string) => ProviderReply;
  exchange?: (form: URLSearchParams, good: ContractProvider) => ProviderReply;
}

export const CLIENT = { id: 'latchkey', secret: 'the_secret_of_a_test' };

/** A provider that keeps the contract (spec §4.5) and needs no login: its page sends the browser back at once. */
export class ContractProvider {
  /** Every code that was ever issued. */
  readonly issued: string[] = [];
  readonly codes = new Map<string, { clientId: string; redirectUri: string; challenge: string | null }>();
  url = '';
  private readonly server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://provider');
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const form = new URLSearchParams(Buffer.concat(chunks).toString());
      const isPage = request.method === 'GET' && pathname === '/oauth2/authorize';
      const isExchange = request.method === 'POST' && pathname === '/oauth2/token/exchange';
      if (isPage)
        send(response, (this.faults.authorize ?? authorize)(searchParams, this, request.headers.cookie));
      else if (isExchange) send(response, (this.faults.exchange ?? exchange)(form, this));
      else send(response, { status: 404 });
    });
  });

  private constructor(private readonly faults: Faults) {}

  static async start(faults: Faults = {}): Promise<ContractProvider> {
    const provider = new ContractProvider(faults);
    await new Promise<void>((resolve) => provider.server.listen(0, '127.0.0.1', resolve));
    provider.url = `http://127.0.0.1:${(provider.server.address() as AddressInfo).port}`;
    return provider;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Issues a code at once, without a page (spec §4.5.1, 2 and 3). */
export function authorize(query: URLSearchParams, provider: ContractProvider): ProviderReply {
  const [clientId, redirectUri, state] = ['client_id', 'redirect_uri', 'state'].map((name) =>
    query.get(name),
  );
  if (clientId !== CLIENT.id || !redirectUri || !state) return { status: 400, body: 'bad link' };
  const code = randomBytes(32).toString('base64url');
  provider.issued.push(code);
  provider.codes.set(code, { clientId, redirectUri, challenge: query.get('code_challenge') });
  const start = redirectUri + (redirectUri.includes('?') ? '&' : '?');
  const location = `${start}code=${code}&state=${encodeURIComponent(state)}`;
  return { status: 302, headers: { Location: location, 'Content-Type': 'text/html; charset=utf-8' } };
}

/** Redeems a code (spec §4.5.2, §7.3). */
export function exchange(form: URLSearchParams, provider: ContractProvider): ProviderReply {
  const fields = ['client_id', 'client_secret', 'code', 'redirect_uri'].map((name) => form.get(name) ?? '');
  const [clientId, clientSecret, code, redirectUri] = fields as [string, string, string, string];
  if (fields.includes('')) return refusal(400, 'invalid_request');
  if (clientId !== CLIENT.id || clientSecret !== CLIENT.secret) return refusal(401, 'invalid_client');
  const grant = provider.codes.get(code);
  const verifier = form.get('code_verifier');
  const challenge = verifier && createHash('sha256').update(verifier).digest('base64url');
  if (grant && grant.challenge !== challenge) return refusal(400, 'invalid_grant');
  provider.codes.delete(code);
  if (grant?.clientId !== clientId || grant.redirectUri !== redirectUri) return refusal(400, 'invalid_grant');
  const body = { provider_user_id: 'u-1', username: 'Ada', avatar_url: 'https://example.com/ada.png' };
  return { status: 200, headers: { 'Cache-Control': 'no-store' }, body };
}

export function refusal(status: number, error: string): ProviderReply {
  return { status, body: { error, error_description: 'what a person may read' } };
}

function send(response: ServerResponse, { status, headers, body }: ProviderReply): void {
  const isJson = typeof body === 'object';
  response.writeHead(status, { ...(isJson && { 'Content-Type': 'application/json' }), ...headers });
  if (body === 'never') response.write(' ');
  else response.end(isJson ? JSON.stringify(body) : body);
}
