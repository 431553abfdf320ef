import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { JSONWebKeySet } from 'jose';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { isLoopbackUrl, parseUrl } from '../../../platform/config/urls/urls.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { ForeignHttp } from '../../../platform/http/foreign/foreign-http.js';
import { readClientDocument, readKeySet, UnusableDocument, type ClientDocument } from './client-document.js';

const TIMEOUT_MS = 3000;
const LONGEST = 5 * 1024;
const [LEAST_LIFE_MS, MOST_LIFE_MS] = [300_000, 86_400_000];
const FAILURE_LIFE_MS = 60_000;
const MOST_CACHED = 1000;
const [MOST_AT_HOST, MOST_AT_ONCE] = [4, 20];

interface Cached {
  readonly until: number;
  /** The last content that could be used, and when it was read. */
  readonly good?: { readonly content: unknown; readonly readAt: number };
  readonly failure?: OAuthError | undefined;
}

interface Wanted {
  readonly url: string;
  readonly types: readonly string[];
  /** @throws UnusableDocument */
  readonly read: (content: unknown) => unknown;
}

/** Content, and when it was read: milliseconds since the epoch. */
export interface Dated<T> {
  readonly content: T;
  readonly readAt: number;
}

/**
 * Fetches documents of programs and their keys, and keeps them: as long as `Cache-Control` says, from five
 * minutes to a day; failures a minute (docs/agents.md#documents).
 */
@Injectable()
export class ClientDocuments implements OnApplicationShutdown {
  private readonly http: ForeignHttp;
  /** By kind and URL, so that no key set counts as a document; the first was used least recently. */
  private readonly cached = new Map<string, Cached>();
  private readonly running = new Map<string, { readonly host: string; readonly fetched: Promise<Cached> }>();

  constructor(@Inject(SETTINGS) private readonly settings: Pick<Settings, 'production'>) {
    const reach = settings.production ? 'internet' : 'loopback';
    this.http = new ForeignHttp({ timeoutMs: TIMEOUT_MS, reach, longestAnswer: LONGEST });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.http.close();
  }

  /** @throws OAuthError `invalid_client` if there is none that can be used; 503 if too many are fetched */
  async find(clientId: string): Promise<Dated<ClientDocument>> {
    return this.contentOf(await this.lookFor(clientId));
  }

  /** @throws as `find` */
  async findKeys(jwksUri: string): Promise<Dated<JSONWebKeySet>> {
    return this.contentOf(await this.lookForKeys(jwksUri));
  }

  /** Finds the keys of a document, or without newer ones those of the last day. @throws as `find` */
  async findRecentKeys(clientId: string): Promise<Dated<JSONWebKeySet> | undefined> {
    const { content, readAt } = this.contentOf<ClientDocument>(recent(await this.lookFor(clientId)));
    if (!content.keys) return undefined;
    if ('jwks' in content.keys) return { content: content.keys.jwks, readAt };
    return this.contentOf(recent(await this.lookForKeys(content.keys.jwksUri)));
  }

  private lookFor(clientId: string): Promise<Cached> {
    const read = (content: unknown): ClientDocument => readClientDocument(content, clientId);
    return this.look({ url: clientId, types: ['application/json'], read });
  }

  private lookForKeys(jwksUri: string): Promise<Cached> {
    const types = ['application/json', 'application/jwk-set+json'];
    return this.look({ url: jwksUri, types, read: readKeySet });
  }

  private contentOf<T>({ good, failure }: Partial<Cached>): Dated<T> {
    if (failure || !good) throw failure;
    return good as Dated<T>;
  }

  private async look(wanted: Wanted): Promise<Cached> {
    const key = `${wanted.types.length} ${wanted.url}`;
    const cached = this.cached.get(key);
    if (cached && cached.until > Date.now()) {
      this.keep(key, cached);
      return cached;
    }
    const running = this.running.get(key);
    if (running) return running.fetched;
    const { host } = parseUrl(wanted.url) ?? { host: '' };
    this.checkLoad(host);
    const fetched = this.fetch(wanted, cached).finally(() => this.running.delete(key));
    this.running.set(key, { host, fetched });
    const result = await fetched;
    this.keep(key, result);
    return result;
  }

  private async fetch(wanted: Wanted, before: Cached | undefined): Promise<Cached> {
    try {
      return await this.request(wanted);
    } catch (cause) {
      const reason = `${wanted.url}: ${cause instanceof Error ? cause.message : 'unknown error'}`;
      const failure = new OAuthError('invalid_client', 'the document of the client cannot be used', {
        reason,
        cause,
      });
      return { ...before, until: Date.now() + FAILURE_LIFE_MS, failure };
    }
  }

  /** @throws OAuthError 503 if as many documents as may be are being fetched, in all or from this host */
  private checkLoad(host: string): void {
    const atHost = [...this.running.values()].filter((one) => one.host === host).length;
    if (this.running.size < MOST_AT_ONCE && atHost < MOST_AT_HOST) return;
    throw new OAuthError('server_error', 'too many documents of clients are being fetched', {
      status: 503,
      headers: { 'Retry-After': '3' },
    });
  }

  private async request({ url, types, read }: Wanted): Promise<Cached> {
    this.checkAddress(url);
    const headers = { Accept: types.join(', '), 'Accept-Encoding': 'identity', 'User-Agent': 'Latchkey' };
    const { status, contentType, cacheControl, body } = await this.http.get(url, headers);
    if (status !== 200) throw new UnusableDocument(`the answer has status ${status}`);
    if (body instanceof Error) throw body;
    if (contentType === undefined || !types.includes(contentType)) {
      throw new UnusableDocument(`the answer is not ${types.join(' or ')}`);
    }
    const good = { content: read(parseJson(body)), readAt: Date.now() };
    return { good, until: good.readAt + lifeOf(cacheControl) };
  }

  /** @throws UnusableDocument unless it is https at port 443; outside production loopback is allowed */
  private checkAddress(address: string): void {
    const url = parseUrl(address);
    const isOwn = url !== undefined && !this.settings.production && isLoopbackUrl(address);
    if (isOwn && /^https?:$/.test(url.protocol)) return;
    if (url?.protocol === 'https:' && url.port === '' && url.username === '' && url.password === '') return;
    throw new UnusableDocument('the address is not https at port 443');
  }

  private keep(key: string, cached: Cached): void {
    this.cached.delete(key);
    if (this.cached.size >= MOST_CACHED) this.cached.delete(this.cached.keys().next().value!);
    this.cached.set(key, cached);
  }
}

/** Content of the last day counts in place of a failure. */
function recent(cached: Cached): Cached {
  const isRecent = cached.good !== undefined && cached.good.readAt > Date.now() - MOST_LIFE_MS;
  return isRecent ? { ...cached, failure: undefined } : cached;
}

/** @throws UnusableDocument */
function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new UnusableDocument('it is no JSON');
  }
}

/** @returns milliseconds */
function lifeOf(cacheControl = ''): number {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return LEAST_LIFE_MS;
  const [, seconds = '0'] = /\bmax-age="?(\d{1,10})/i.exec(cacheControl) ?? [];
  return Math.min(Math.max(Number(seconds) * 1000, LEAST_LIFE_MS), MOST_LIFE_MS);
}
