import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { isClaimName } from '../../../platform/config/providers/claim-paths.js';
import { decodeText } from '../../../platform/config/secrets/secret-files.js';
import {
  errorLine,
  InvalidSettings,
  quote,
  unreadable,
} from '../../../platform/config/settings/invalid-settings.js';
import type { Settings } from '../../../platform/config/settings/settings.js';
import { isLoopbackUrl, isRedirectUri, parseUrl } from '../../../platform/config/urls/urls.js';
import { isObject } from '../../../platform/http/parameters/json.js';
import { normalizeResource } from '../../../token/access-tokens/audiences.js';
import { isPlainName } from '../clients/plain-name.js';
import { FileErrors, isList, isText } from './file-errors.js';
import { Trust, trustEntry } from './trust.js';

/** Names that OpenID clients always send (OpenID Connect Core §5.4, §11); they count as not sent. */
export const UNCOUNTED_SCOPES: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'offline_access',
]);

/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;
const SHA256 = /^[0-9a-f]{64}$/;
/** Characters of a scope's sentence. */
const LONGEST_SENTENCE = 120;

/** An API that programs may use. */
export interface AgentResource {
  /** Identifier (RFC 8707 §2) and audience of tokens, as the file writes it. */
  readonly resource: string;
  /** For people. */
  readonly name: string;
  /** Sentences by language, by scope. A sentence for all languages is that of `en`. */
  readonly scopes: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Scopes of a request that names none. */
  readonly defaultScopes: readonly string[];
  /** Names of claims that its tokens carry. */
  readonly claims: readonly string[];
  /** SHA-256 of its service keys. */
  readonly serviceKeyHashes: readonly Buffer[];
}

/** A program that the file names. */
export interface RegisteredAgent {
  readonly clientId: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** SHA-256 of its secret. */
  readonly secretHash?: Buffer;
  readonly jwks?: JSONWebKeySet;
}

/** The file that AGENTS_FILE names (docs/agents.md#the-file). */
export class AgentsFile {
  private readonly byIdentifier: ReadonlyMap<string, AgentResource>;

  constructor(
    readonly resources: readonly AgentResource[],
    readonly trust: Trust,
    readonly clients: ReadonlyMap<string, RegisteredAgent>,
    /** Seconds. */
    readonly sessionTtl: number,
  ) {
    this.byIdentifier = new Map(resources.map((one) => [normalizeResource(one.resource), one]));
  }

  /** Finds an API: scheme and host without case, one trailing `/` alike. */
  findResource(identifier: string): AgentResource | undefined {
    return this.byIdentifier.get(normalizeResource(identifier));
  }
}

/**
 * Returns the scopes that a request is for: unknown ones are left out, and those of OpenID Connect count as
 * not sent.
 * @param scope separated by spaces
 */
export function grantedScopes(scope = '', { scopes, defaultScopes }: AgentResource): readonly string[] {
  const sent = new Set(scope.split(' ').filter((one) => one !== '' && !UNCOUNTED_SCOPES.has(one)));
  return sent.size === 0 ? defaultScopes : [...sent].filter((one) => scopes.has(one));
}

type Used = Pick<Settings, 'agentsFile' | 'publicUrl' | 'refreshTokenTtl' | 'production'>;

/** @throws InvalidSettings with a line for each error, which names the member */
export function readAgentsFile(settings: Used): AgentsFile {
  if (settings.agentsFile === undefined) {
    const use = 'a JSON file of APIs and programs, or id_jag=off';
    throw new InvalidSettings([errorLine('AGENTS_FILE', 'is not set, and id_jag is on', use)]);
  }
  const path = resolve(settings.agentsFile);
  let json: string;
  try {
    json = decodeText(readFileSync(path));
  } catch (error) {
    throw new InvalidSettings([
      errorLine('AGENTS_FILE', unreadable(error), 'a readable JSON file of APIs and programs', quote(path)),
    ]);
  }
  return parseAgentsFile(json, settings);
}

/** @throws as `readAgentsFile` */
export function parseAgentsFile(json: string, settings: Omit<Used, 'agentsFile'>): AgentsFile {
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch {
    throw new InvalidSettings(['AGENTS_FILE: the file is not JSON']); // the parser's message quotes the text
  }
  const errors = new FileErrors();
  const root = errors.object('', content, ['resources', 'trust', 'clients', 'session_ttl']);
  const resources = errors
    .list('resources', root['resources'], 1)
    .map((entry, i) => readResource(errors, `resources[${i}]`, entry, settings));
  errors.unique(
    'resources',
    'resource',
    resources.map(({ resource }) => normalizeResource(resource)),
  );
  const trust = errors
    .list('trust', root['trust'] ?? [])
    .flatMap((entry, i) => errors.read(`trust[${i}]`, trustEntry(settings.production), entry) ?? []);
  const clients = errors
    .list('clients', root['clients'] ?? [])
    .map((entry, i) => readClient(errors, `clients[${i}]`, entry));
  errors.unique(
    'clients',
    'client_id',
    clients.map(({ clientId }) => clientId),
  );
  const sessionTtl = root['session_ttl'] ?? settings.refreshTokenTtl;
  const isTtl = Number.isInteger(sessionTtl) && Number(sessionTtl) >= 1;
  if (!isTtl || Number(sessionTtl) > settings.refreshTokenTtl) {
    errors.add('session_ttl', `whole seconds, at most REFRESH_TOKEN_TTL (${settings.refreshTokenTtl})`);
  }
  errors.check();
  const byId = new Map(clients.map((client) => [client.clientId, client]));
  return new AgentsFile(resources, new Trust(trust), byId, Number(sessionTtl));
}

function readResource(
  errors: FileErrors,
  at: string,
  entry: unknown,
  { publicUrl, production }: Pick<Settings, 'publicUrl' | 'production'>,
): AgentResource {
  const members = ['resource', 'name', 'scopes', 'default_scopes', 'claims', 'service_keys_sha256'];
  const one = errors.object(at, entry, members);
  const resource = errors.text(
    `${at}.resource`,
    one['resource'],
    `an https URL without fragment and user info, as browsers write it${production ? '' : '; or http on loopback'}`,
    (value) => isIdentifier(value, production),
  );
  if (normalizeResource(resource) === normalizeResource(publicUrl)) {
    errors.add(`${at}.resource`, 'another URL than PUBLIC_URL, which the tokens of your application are for');
  }
  const scopes = readScopes(errors, `${at}.scopes`, one['scopes']);
  const all = [...scopes.keys()];
  const defaultScopes = errors.texts(
    `${at}.default_scopes`,
    one['default_scopes'] ?? all,
    'scopes of this API',
    (name) => scopes.has(name),
  );
  return {
    resource,
    name: errors.text(`${at}.name`, one['name'], 'text of 1 to 80 characters on one line', isPlainName),
    scopes,
    defaultScopes: defaultScopes.length === 0 ? all : defaultScopes,
    claims: errors.texts(`${at}.claims`, one['claims'] ?? [], 'names of claims', isClaimName),
    serviceKeyHashes: errors
      .texts(
        `${at}.service_keys_sha256`,
        one['service_keys_sha256'] ?? [],
        'SHA-256 of keys, as 64 hexadecimal digits in lower case',
        (value) => SHA256.test(value),
      )
      .map((hex) => Buffer.from(hex, 'hex')),
  };
}

/**
 * As `new URL()` writes it, but for the `/` of a host alone: so clients and verifiers compare equal texts.
 */
function isIdentifier(text: string, production: boolean): boolean {
  const url = text.length <= 2048 ? parseUrl(text) : undefined;
  if (!url || url.hash !== '' || text.includes('#') || url.username !== '' || url.password !== '')
    return false;
  if (url.href !== text && url.href !== `${text}/`) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && !production && isLoopbackUrl(text));
}

function readScopes(
  errors: FileErrors,
  at: string,
  value: unknown,
): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const entries = isObject(value) ? Object.entries(value) : [];
  if (entries.length === 0) errors.add(at, 'an object of at least one scope, with its sentence');
  for (const [scope, sentence] of entries) {
    if (!SCOPE.test(scope) || UNCOUNTED_SCOPES.has(scope)) {
      const others = [...UNCOUNTED_SCOPES].join(', ');
      errors.add(
        at,
        `names of 1 to 100 characters without blanks, quotes and backslashes, none of ${others}`,
      );
    } else if (!isSentences(sentence)) {
      errors.add(
        `${at}.${scope}`,
        `a sentence of 1 to ${LONGEST_SENTENCE} characters, or {"en": …, "de": …}`,
      );
    }
  }
  return new Map(
    entries.map(([scope, sentence]) => [
      scope,
      isObject(sentence) ? (sentence as Record<string, string>) : { en: String(sentence) },
    ]),
  );
}

function isSentences(value: unknown): boolean {
  if (!isObject(value)) return isText(value, LONGEST_SENTENCE);
  const languages = Object.keys(value);
  if (!languages.includes('en') || !languages.every((language) => LANGUAGE.test(language))) return false;
  return Object.values(value).every((sentence) => isText(sentence, LONGEST_SENTENCE));
}

function readClient(errors: FileErrors, at: string, entry: unknown): RegisteredAgent {
  const members = ['client_id', 'client_name', 'redirect_uris', 'client_secret_hash', 'jwks'];
  const one = errors.object(at, entry, members);
  const { client_secret_hash: secretHash, jwks } = one;
  if (secretHash !== undefined && !(typeof secretHash === 'string' && SHA256.test(secretHash))) {
    const how = 'SHA-256 of a secret of 32 random characters or more, as 64 hexadecimal digits in lower case';
    errors.add(`${at}.client_secret_hash`, how);
  }
  if (jwks !== undefined && !(isObject(jwks) && isList(jwks['keys'], 1) && jwks['keys'].every(isObject))) {
    errors.add(`${at}.jwks`, 'an object with public keys: {"keys": […]}');
  }
  if (secretHash !== undefined && jwks !== undefined) errors.add(at, 'client_secret_hash or jwks, not both');
  return {
    clientId: errors.text(
      `${at}.client_id`,
      one['client_id'],
      'a name of 1 to 255 printable ASCII characters that is no URL',
      (value) => /^[\x21-\x7e]{1,255}$/.test(value) && !value.includes('://'),
    ),
    name: errors.text(
      `${at}.client_name`,
      one['client_name'],
      'text of 1 to 80 characters on one line',
      isPlainName,
    ),
    redirectUris: errors.texts(
      `${at}.redirect_uris`,
      one['redirect_uris'],
      'URIs of 1 to 2048 characters, https or http on loopback or of a private scheme, at least one',
      (value) =>
        value.length <= 2048 && isRedirectUri(value) && (!/^http:/i.test(value) || isLoopbackUrl(value)),
      1,
    ),
    ...(typeof secretHash === 'string' && { secretHash: Buffer.from(secretHash, 'hex') }),
    ...(isObject(jwks) && { jwks: jwks as unknown as JSONWebKeySet }),
  };
}
