import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalidToken, LatchkeyError } from './latchkey-error.js';
import { metadataMiddleware, type ProtectedResourceOptions } from './protected-resource.js';
import {
  requireClaim,
  requireRecentAuth,
  requireRole,
  requireScope,
  type RecentAuth,
  type Requirement,
} from './requirements.js';
import type { WithHeaders } from './token/bearer.js';
import type { Authenticator, Verifier } from './verifier.js';

/** The part of Nest's `ExecutionContext` that the guard reads. */
interface Context {
  /** `http`, `ws`, `rpc`, or a library's name: `graphql`. */
  getType?(): string;
  /** For a resolver: parent, arguments, context. */
  getArgs?(): unknown[];
  getClass?(): object | null;
  getHandler?(): object | null;
  switchToHttp(): { getRequest(): unknown; getResponse(): unknown };
  switchToWs?(): { getClient(): unknown };
}

/** Express's response and Fastify's reply. */
interface Response {
  readonly headersSent?: boolean;
  header?(name: string, value: string): unknown;
}

/** A gateway's client: of Socket.IO, or of `ws` if the application has stored the request of the upgrade. */
interface Client {
  data?: object;
  readonly handshake?: { readonly auth?: Readonly<Record<string, unknown>> };
  readonly request?: unknown;
}

/** The context of a GraphQL operation: Apollo, Yoga, Mercurius. */
interface GraphqlContext {
  readonly req?: unknown;
  readonly request?: unknown;
  readonly reply?: { readonly request?: unknown };
}

interface Caller {
  readonly request: WithHeaders;
  /** The object that gets `claims`. */
  readonly target: object;
}

type ExceptionClass = new (body: object, status: number, options: { cause: unknown }) => Error;
type WsExceptionClass = new (body: object) => Error;

type Decorator = ClassDecorator & MethodDecorator;

/** reflect-metadata, which Nest loads. Its functions are not in the language. */
const metadata = Reflect as unknown as {
  getMetadata(key: string, target: object): readonly Requirement[] | undefined;
  defineMetadata(key: string, value: readonly Requirement[], target: object): void;
};
const KEY = '@latchkey/server:requirements';

/**
 * Lets in users with one of the roles: for a controller, gateway or resolver, or one of its methods. The guard of `authenticate()`
 * checks it; without that guard it has no effect. Of several decorators, of class and method, all have to be met.
 *
 * @example
 * @Roles('admin')
 * @Delete(':id')
 * remove() {}
 */
export function Roles(...roles: Parameters<typeof requireRole>): Decorator {
  return requiring(requireRole(...roles));
}

/**
 * Lets in users with a claim of this value, or a list that contains it; otherwise like `@Roles()`.
 *
 * @example
 * @RequireClaim('plan', 'pro')
 * @Get('reports')
 * list() {}
 */
export function RequireClaim(...claim: Parameters<typeof requireClaim>): Decorator {
  return requiring(requireClaim(...claim));
}

/**
 * Lets in programs with all of the scopes, and the application's own pages; otherwise like `@Roles()`, with the scopes to ask for.
 *
 * @example
 * @RequireScope('orders:read')
 * @Get('orders')
 * list() {}
 */
export function RequireScope(...scopes: Parameters<typeof requireScope>): Decorator {
  return requiring(requireScope(...scopes));
}

/**
 * Creates a middleware of the application that declares an API for programs of third parties, and answers requests for its metadata (RFC 9728).
 *
 * @example
 * app.use(protectedResource(latchkey, { resource: 'https://api.example.com/mcp', scopes: ['orders:read'] }));
 */
export function protectedResource(
  verifier: Pick<Verifier, 'protectedResource'>,
  options: ProtectedResourceOptions,
): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  return metadataMiddleware(verifier.protectedResource(options));
}

/**
 * Lets in users who authenticated not long ago or in a certain way (RFC 9470); otherwise like `@Roles()`.
 *
 * @example
 * @RequireRecentAuth({ maxAge: 300 })
 * @Post('payments')
 * pay() {}
 */
export function RequireRecentAuth(needed: RecentAuth): Decorator {
  return requiring(requireRecentAuth(needed));
}

function requiring(requirement: Requirement): Decorator {
  return (target: object, name?: string | symbol, descriptor?: { readonly value?: unknown }) => {
    const decorated = name === undefined ? target : descriptor?.value;
    if (typeof decorated !== 'function')
      throw new TypeError('only classes and methods can have requirements');
    const others = metadata.getMetadata(KEY, decorated) ?? []; // of a base class, too
    metadata.defineMetadata(KEY, [...others, requirement], decorated);
  };
}

function requirementsOf(context: Context): readonly Requirement[] {
  const places = [context.getClass?.(), context.getHandler?.()];
  return places.flatMap((place) => (place && metadata.getMetadata(KEY, place)) ?? []);
}

/**
 * Creates a guard for NestJS: it sets `claims` of the request (Express, Fastify, GraphQL) or of a gateway's `client.data`, or throws
 * an exception with the answer. It rejects every other context, and users without the claims that `@Roles()`, `@RequireClaim()`,
 * `@RequireScope()` and `@RequireRecentAuth()` ask for.
 * @param HttpException of `@nestjs/common`: the application's own class, so that its filters recognise it
 * @param WsException of `@nestjs/websockets`, for gateways: Nest sends its body to the client, and hides other exceptions
 *
 * @example
 * app.useGlobalGuards(authenticate(latchkey, HttpException, WsException));
 */
export function authenticate(
  verifier: Authenticator,
  HttpException: ExceptionClass,
  WsException?: WsExceptionClass,
): { canActivate(context: Context): Promise<true> } {
  return {
    async canActivate(context) {
      const type = context.getType?.() ?? 'http';
      try {
        const { request, target } = callerOf(context, type);
        const claims = await verifier.authenticate(request);
        for (const require of requirementsOf(context)) require(claims);
        Object.assign(target, { claims });
        return true;
      } catch (error) {
        if (!(error instanceof LatchkeyError)) throw error;
        if (type === 'ws' && WsException) throw new WsException(error.body);
        if (type === 'http') setHeaders(context.switchToHttp().getResponse() as Response | undefined, error);
        throw new HttpException(error.body, error.status, { cause: error });
      }
    },
  };
}

function setHeaders(response: Response | undefined, { headers }: LatchkeyError): void {
  if (response?.headersSent) return; // e.g. by a timeout of the application
  for (const [name, value] of Object.entries(headers)) response?.header?.(name, value);
}

/** @throws LatchkeyError `invalid_token` for a context without a request */
function callerOf(context: Context, type: string): Caller {
  const caller = type === 'ws' ? callerOfMessage(context) : callerOfRequest(requestOf(context, type));
  if (caller) return caller;
  throw invalidToken(
    'no access token can be read here: only from HTTP, GraphQL and WebSocket requests',
    false,
  );
}

function requestOf(context: Context, type: string): unknown {
  if (type === 'http') return context.switchToHttp().getRequest();
  if (type !== 'graphql') return undefined;
  const { req, request, reply } = (context.getArgs?.()[2] ?? {}) as GraphqlContext;
  return req ?? request ?? reply?.request;
}

function callerOfRequest(request: unknown): Caller | undefined {
  return hasHeaders(request) ? { request, target: request } : undefined;
}

/** Reads the token of the handshake: `auth.token`, else the header (docs/realtime.md#the-handshake). */
function callerOfMessage(context: Context): Caller | undefined {
  const client = context.switchToWs?.().getClient() as Client | undefined;
  const opening = openingOf(client);
  return client && hasHeaders(opening) ? { request: opening, target: (client.data ??= {}) } : undefined;
}

function openingOf(client: Client | undefined): unknown {
  const token = client?.handshake?.auth?.['token'] ?? undefined;
  if (token === undefined) return client?.handshake ?? client?.request;
  return { headers: { authorization: typeof token === 'string' ? `Bearer ${token}` : 'Bearer' } };
}

function hasHeaders(request: unknown): request is WithHeaders {
  const { headers } = (request ?? {}) as { headers?: unknown };
  return typeof headers === 'object' && headers !== null;
}
