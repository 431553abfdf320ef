import type { Person } from '../support/oidc-issuer.js';
import { makeSigningKey } from '../support/signing-key.js';

/** Addresses that are registered at a product. */
export interface Addresses {
  /** Redirect URI of a provider of Latchkey. */
  callback(provider: string): string;
  /** Back-channel logout URI of a provider of Latchkey. */
  backChannel(provider: string): string;
  readonly signedOut: string;
}

/** What a product can do; the tests of the rest are left out. */
export interface Features {
  /** Client with the key of `CLIENT_KEY` instead of a secret. */
  readonly privateKeyJwt: boolean;
  readonly par: boolean;
  /** Member `groups` of the ID token. */
  readonly claims: boolean;
  /** `iss` in the callback (RFC 9207). */
  readonly iss: boolean;
  /** Step-up by `acr_values` (RFC 9470): `silver` by the password, `gold` by the password again. */
  readonly acr?: true;
  /** Offers another account, although discovery does not list `select_account` (docs/guides/access-policy.md#a-refused-account). */
  readonly asksForAccount?: true;
  /** With `id_token_hint` no page asks (`silent`), or one does (`form`); absent if the page is a program. */
  readonly logout?: 'silent' | 'form';
}

/** Settings of Latchkey beside `adapter` and `url`, by the name of the provider. */
type Clients = Readonly<Partial<Record<'plain' | 'par' | 'key' | 'acr', Readonly<Record<string, string>>>>>;

/** An identity provider that runs on loopback, with the user `ada`. */
export interface Product {
  readonly issuer: string;
  readonly clients: Clients;
  /** Signs `ada` in unless the browser has a session. @returns the callback */
  authorize(person: Person, page: string): Promise<Visit>;
  /** What a user does who signs out there, without Latchkey. */
  signOut(person: Person): Promise<void>;
  /** From now on it signs with another key; the former one is no longer published. */
  rotateKeys(): Promise<void>;
  stop(): Promise<void>;
}

export interface Visit {
  readonly url: URL;
  /** Count of pages that asked the user. */
  readonly pages: number;
}

export const SECRET = 'a client secret of this test';
export const PASSWORD = 'a password of ada';
export const EMAIL = 'ada@idp.example';

/** JWK of a private key with which a client signs. */
export const CLIENT_KEY = JSON.stringify(makeSigningKey('client').jwk);

export function publicKeyOf(jwk: string): Record<string, unknown> {
  const { d: _, ...rest } = JSON.parse(jwk) as Record<string, unknown>;
  return rest;
}

/** Start of a JVM on a busy machine. */
export const START_MS = 600_000;

const STEPS = 20;

/**
 * Goes through redirects and forms, as a browser without scripts.
 * @param end beginning of the address that is not opened any more; without one, the last page is the end
 * @param values of the forms' fields; the others keep the values that the page gives them
 */
export async function visit(
  person: Person,
  start: URL | string,
  end?: string,
  values: Readonly<Record<string, string>> = {},
): Promise<Visit> {
  let url = new URL(start);
  let init: RequestInit = {};
  for (let pages = 0, steps = 0; steps < STEPS; steps++) {
    if (end !== undefined && url.href.startsWith(end)) return { url, pages };
    const response = await person.fetch(url, init);
    const page = await response.text();
    const location = response.headers.get('Location');
    const form = location === null ? formOf(page, values) : undefined;
    if (location === null && form === undefined) {
      if (end === undefined) return { url, pages };
      throw new Error(`${url.origin}${url.pathname} answered ${response.status}: ${page.slice(0, 2000)}`);
    }
    url = new URL(location ?? form!.action, url);
    init = form ? { method: 'POST', body: form.body } : {};
    pages += form ? 1 : 0;
  }
  throw new Error(`no end after ${STEPS} steps: ${url.href}`);
}

/** Opens a JSON endpoint for administrators. @throws Error if the status is not 2xx */
export async function call(
  url: string,
  method = 'GET',
  body?: object,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Whether a server answers at all. */
export const isUp = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ status }) => status < 500,
    () => false,
  );

/** Opens the endpoints once: keys are generated and classes loaded at the first request, for longer than Latchkey waits. */
export async function warmUp(issuer: string): Promise<void> {
  const document = (await call(`${issuer}/.well-known/openid-configuration`)) as Record<string, string>;
  await fetch(document['jwks_uri']!);
  const body = new URLSearchParams({ grant_type: 'authorization_code', code: 'none', client_id: 'none' });
  await fetch(document['token_endpoint']!, { method: 'POST', body });
}

/** The first form of a page that is sent with POST. */
function formOf(
  page: string,
  values: Readonly<Record<string, string>>,
): { action: string; body: URLSearchParams } | undefined {
  for (const [, head = '', content = ''] of page.matchAll(/<form([^>]*)>(.*?)<\/form>/gis)) {
    if (!/method="?post/i.test(head)) continue;
    const body = new URLSearchParams();
    for (const [input] of content.matchAll(/<(?:input|button)[^>]*>/gi)) {
      const name = attribute(input, 'name');
      if (name) body.set(name, values[name] ?? attribute(input, 'value') ?? '');
    }
    for (const [name, value] of Object.entries(values)) if (!body.has(name)) body.set(name, value);
    return { action: attribute(head, 'action') ?? '', body };
  }
  return undefined;
}

function attribute(tag: string, name: string): string | undefined {
  const [, value] = new RegExp(`\\s${name}="([^"]*)"`, 'i').exec(tag) ?? [];
  return value?.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=').replaceAll('&quot;', '"');
}
