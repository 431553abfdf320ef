import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request, { type Response } from 'supertest';

export const API = 'https://api.example/mcp';
/** @public */
export const OTHER_API = 'https://other.example/';
/** @public */
export const API_KEY = 'a service key of the API, long enough'.replaceAll(/[ ,]/g, '-');
/** @public */
export const AGENT_SECRET = 'a-secret-of-32-random-characters!';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Programs that the file names: on the web, on a computer, and one with a secret. */
export const AGENTS = {
  web: { client_id: 'web-agent', client_name: 'Web Agent', redirect_uris: ['https://agent.example/cb'] },
  cli: { client_id: 'cli-agent', client_name: 'CLI Agent', redirect_uris: ['http://127.0.0.1/cb'] },
  secret: {
    client_id: 'secret-agent',
    client_name: 'Secret Agent',
    redirect_uris: ['https://secret.example/cb'],
    client_secret_hash: sha256(AGENT_SECRET),
  },
};

export const AGENTS_CONTENT = {
  resources: [
    {
      resource: API,
      name: 'Orders',
      scopes: {
        'orders:read': 'See your orders',
        'orders:write': { en: 'Change your orders', de: 'Ihre Bestellungen ändern' },
      },
      claims: ['roles', 'plan'],
      service_keys_sha256: [sha256(API_KEY)],
    },
    {
      resource: OTHER_API,
      name: 'Other',
      scopes: { 'notes:read': 'See your notes', 'notes:write': 'Write notes' },
      default_scopes: ['notes:read'],
    },
  ],
  trust: [] as string[],
  clients: Object.values(AGENTS) as object[],
};

/** @returns path of an AGENTS_FILE */
export function agentsFile(content: object = AGENTS_CONTENT): string {
  const path = join(mkdtempSync(join(tmpdir(), 'agents-')), 'agents.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

export interface AgentTokens {
  access_token: string;
  refresh_token: string;
  scope: string;
  expires_in: number;
}

/** User agent of the person's browser. @public */
export const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0';

/** A program, and the browser of the person whom it asks. */
export class Agent {
  readonly verifier = randomBytes(32).toString('base64url');
  /** `Accept-Language`. */
  language = 'en';
  /** `Origin` of its forms. */
  origin: string;
  private readonly cookies = new Map<string, string>();

  /** @param browser of another program: one person at one computer */
  constructor(
    private readonly url: string,
    readonly client: { client_id: string; redirect_uris: readonly string[] } = AGENTS.web,
    browser?: Agent,
  ) {
    this.origin = new URL(url).origin;
    if (browser) this.cookies = browser.cookies;
  }

  get redirectUri(): string {
    return this.client.redirect_uris[0]!;
  }

  authorize(more: Record<string, unknown> = {}): Promise<Response> {
    const query = {
      response_type: 'code',
      client_id: this.client.client_id,
      redirect_uri: this.redirectUri,
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state: 'a state',
      resource: API,
      ...more,
    };
    const sent = Object.entries(query).filter(([, value]) => value !== undefined);
    const parameters = new URLSearchParams();
    for (const [name, value] of sent) for (const one of [value].flat()) parameters.append(name, one);
    return this.get(`/oauth2/authorize?${parameters.toString()}`);
  }

  /** Follows redirects up to a page, or out of the service. */
  async follow(from: Response): Promise<Response> {
    let answer = from;
    for (let hops = 0; answer.status >= 300 && answer.status < 400; hops++) {
      const address = new URL(answer.headers['location']!, this.url).href;
      if (hops > 8) throw new Error(`${address} leads nowhere`);
      if (address.startsWith(this.redirectUri)) return answer;
      answer = await this.get(address);
    }
    return answer;
  }

  /** Up to the question. */
  async ask(more?: Record<string, unknown>): Promise<Response> {
    return this.follow(await this.authorize(more));
  }

  /** Answers the question. @param scopes ticks; default: all of the page */
  answer(page: Response, answer: 'yes' | 'no', scopes?: readonly string[]): Promise<Response> {
    const read = (name: string): string[] =>
      [...page.text.matchAll(new RegExp(`name="${name}" value="([^"]*)"`, 'g'))].map(([, value]) => value!);
    const parameters = new URLSearchParams({ answer, request: read('request')[0]!, user: read('user')[0]! });
    for (const scope of scopes ?? read('scope')) parameters.append('scope', scope);
    return this.post('/agents/consent', parameters);
  }

  post(path: string, form: URLSearchParams): Promise<Response> {
    return this.keep(
      request(this.url)
        .post(path)
        .set('Cookie', this.cookie)
        .set('User-Agent', BROWSER)
        .set('Origin', this.origin)
        .type('form')
        .send(form.toString()),
    );
  }

  get(address: string): Promise<Response> {
    const { origin, pathname, search } = new URL(address, this.url);
    return this.keep(
      request(origin)
        .get(pathname + search)
        .set('Cookie', this.cookie)
        .set('User-Agent', BROWSER)
        .set('Accept', 'text/html')
        .set('Accept-Language', this.language),
    );
  }

  /** Up to the code. */
  async code(more?: Record<string, unknown>, scopes?: readonly string[]): Promise<string> {
    const answered = await this.answer(await this.ask(more), 'yes', scopes);
    return answerOf(answered)['code']!;
  }

  redeem(code: string, more: Record<string, unknown> = {}, url = this.url) {
    const body = {
      grant_type: 'authorization_code',
      code,
      client_id: this.client.client_id,
      redirect_uri: this.redirectUri,
      code_verifier: this.verifier,
      resource: API,
      ...more,
    };
    return request(url).post('/oauth2/token').type('form').send(present(body));
  }

  refresh(tokens: Pick<AgentTokens, 'refresh_token'>, more: Record<string, unknown> = {}, url = this.url) {
    const { refresh_token } = tokens;
    const body = { grant_type: 'refresh_token', refresh_token, client_id: this.client.client_id, ...more };
    return request(url).post('/oauth2/token').type('form').send(present(body));
  }

  /** The whole way. */
  async allowed(more?: Record<string, unknown>, scopes?: readonly string[]): Promise<AgentTokens> {
    const redeemed = await this.redeem(await this.code(more, scopes), { resource: undefined });
    if (redeemed.status !== 200) throw new Error(`${redeemed.status} ${redeemed.text}`);
    return redeemed.body as AgentTokens;
  }

  private get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  private async keep(asked: PromiseLike<Response>): Promise<Response> {
    const answer = await asked;
    for (const line of (answer.headers['set-cookie'] as unknown as string[] | undefined) ?? []) {
      const [name, value] = line.split(';')[0]!.split('=');
      this.cookies.set(name!, value!);
    }
    return answer;
  }
}

/** What the program receives: in a redirect, or in the page after the answer. */
export function answerOf({ headers }: Response): Record<string, string> {
  const address = headers['location'] ?? headers['refresh']!.slice('0; url='.length);
  return Object.fromEntries(new URL(address).searchParams);
}

function present(body: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
