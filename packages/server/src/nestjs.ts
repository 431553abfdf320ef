import { invalidToken, LatchkeyError } from './latchkey-error.js';
import type { WithHeaders } from './token/bearer.js';
import type { Authenticator } from './verifier.js';

/** The part of Nest's `ExecutionContext` that the guard reads. */
interface Context {
  /** `http`, `ws`, `rpc`, or a library's name: `graphql`. */
  getType?(): string;
  /** For a resolver: parent, arguments, context. */
  getArgs?(): unknown[];
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

/**
 * Creates a guard for NestJS: it sets `claims` of the request (Express, Fastify, GraphQL) or of a gateway's `client.data`, or throws
 * an exception with the answer. It rejects every other context.
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
        Object.assign(target, { claims: await verifier.authenticate(request) });
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

/** Reads the token of the handshake: `auth.token`, else the header (contract §7). */
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
