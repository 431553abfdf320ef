import type { IncomingMessage, ServerResponse } from 'node:http';
import { bearerChallenge, LatchkeyError } from './latchkey-error.js';
import { checkNames } from './option-names.js';
import { resourceId, webAddress, type Settings } from './options.js';

/** Options of `protectedResource`. */
export interface ProtectedResourceOptions {
  /** The API's identifier, as `AGENTS_FILE` of the service has it: an address, and one of the verifier's `audience`. */
  readonly resource: string;
  /** The scopes for which a program asks the user at first. */
  readonly scopes: readonly string[];
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** All that this process has declared, by their identifiers. */
const declared = new Map<string, ProtectedResource>();

/** Answers requests for the metadata of an API (RFC 9728). Made by `protectedResource`. */
export class ProtectedResource {
  /** JSON. Addresses in it are never of a request's `Host`. */
  readonly metadata: string;
  /** Parameters of a challenge (RFC 9728 §5.1; RFC 6750 §3). */
  readonly parameters: Readonly<Record<'resource_metadata' | 'scope', string>>;
  private readonly origin: string;
  private readonly path: string;

  /** @throws TypeError for an invalid option */
  constructor(
    options: ProtectedResourceOptions,
    { issuer, audience }: Pick<Settings, 'issuer' | 'audience'>,
  ) {
    checkNames('protectedResource()', options, { resource: true, scopes: true });
    const { resource, scopes } = options;
    webAddress('resource', resource);
    if (!audience.includes(resource))
      throw new TypeError('resource must be one of the audience of createVerifier(), as it is written there');
    if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every(isScope))
      throw new TypeError('scopes must be a list of texts without spaces and quotes, and not empty');
    const { origin, pathname } = new URL(resource);
    this.origin = origin;
    this.path = WELL_KNOWN + (pathname === '/' ? '' : pathname); // RFC 9728 §3.1
    this.parameters = { resource_metadata: origin + this.path, scope: scopes.join(' ') };
    this.metadata = JSON.stringify({
      resource,
      authorization_servers: [issuer],
      scopes_supported: scopes,
      bearer_methods_supported: ['header'],
    });
    declared.set(resourceId(resource), this);
  }

  /** Returns the answer to a request for the metadata; undefined for any other request. */
  handle({ method, url }: Pick<Request, 'method' | 'url'>): Response | undefined {
    if (!this.isMetadata(method, new URL(url).pathname)) return undefined;
    return new Response(method === 'HEAD' ? null : this.metadata, { headers: METADATA_HEADERS });
  }

  /** Whether a request is for the metadata. The root of a host is that of its only API. */
  isMetadata(method: string | undefined, path: string): boolean {
    if (method !== 'GET' && method !== 'HEAD') return false;
    if (path === this.path) return true;
    return (
      path === WELL_KNOWN && [...declared.values()].every((one) => one === this || one.origin !== this.origin)
    );
  }
}

/** Clients in browsers read the metadata, too. */
export const METADATA_HEADERS = { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' };

/** Middleware of Express, NestJS and Node.js. */
export function metadataMiddleware(resource: ProtectedResource) {
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const { originalUrl: url = request.url! } = request as { originalUrl?: string } & IncomingMessage;
    if (!resource.isMetadata(request.method, url.replace(/\?.*/s, ''))) return next();
    for (const [name, value] of Object.entries(METADATA_HEADERS)) response.setHeader(name, value);
    response.end(resource.metadata); // Node.js sends no body to HEAD
  };
}

/** Returns the resource that this process has declared for an audience. */
export const findResource = (audience: string): ProtectedResource | undefined =>
  declared.get(resourceId(audience));

/** Adds the metadata and scopes to an error with 401, unless several of the verifier's APIs have some. */
export function challengeOf(error: unknown, audience: readonly string[]): unknown {
  if (!(error instanceof LatchkeyError) || error.status !== 401) return error;
  const [resource, ...others] = new Set(audience.flatMap((one) => findResource(one) ?? []));
  if (!resource || others.length > 0) return error;
  const { code, status, description, headers } = error;
  const isPresented = headers['WWW-Authenticate'] !== bearerChallenge({});
  const challenge = bearerChallenge({ ...(isPresented && { error: code }), ...resource.parameters });
  return new LatchkeyError(code, status, description, { ...headers, 'WWW-Authenticate': challenge });
}

/** Characters of a value in a list with spaces, in quotes (RFC 6749 §3.3). */
export const isScope = (text: unknown): boolean =>
  typeof text === 'string' && /^[!#-[\]-~]{1,255}$/.test(text);
