import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';

export const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** Replaces the service in tests that control its answers. */
export class FakeService {
  readonly url: string;
  readonly keys: (JWK & { kid: string })[] = [];
  /** Method and path of each request so far. */
  readonly requests: string[] = [];
  /** `Last-Event-ID` of each stream so far; empty without. */
  readonly cursors: string[] = [];
  readonly streams = new Set<ServerResponse>();
  /** Sent before `ready`. */
  past = '';
  /** Whether a new stream says `ready`, and a comment every 0.2 s. */
  talks = true;
  jwks: Answer = (_request, response) => response.end(JSON.stringify({ keys: this.keys }));
  introspect: Answer = (_request, response) => response.end('{"active":true}');
  refresh: Answer = (_request, response) =>
    void this.token().then((access_token) =>
      response.end(JSON.stringify({ access_token, token_type: 'Bearer', expires_in: 3600 })),
    );
  other: Answer = (_request, response) =>
    response.writeHead(404).end('{"error":"not_found","error_description":"x"}');
  stream: Answer = (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    this.streams.add(response);
    response.once('close', () => this.streams.delete(response));
    response.write(this.past);
    if (this.talks) response.write('event: ready\nid: c0\ndata: {}\n\n');
    else response.flushHeaders();
  };
  private readonly sockets = new Set<Socket>();
  private readonly talking = setInterval(() => this.talks && this.say(': c1\nid: c1\n\n'), 200);
  private readonly privateKeys = new Map<string, CryptoKey>();

  private constructor(private readonly server: Server) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.on('request', (request, response) => void this.answer(request, response));
  }

  static async start(): Promise<FakeService> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const service = new FakeService(server);
    await service.addKey('k1');
    return service;
  }

  async addKey(kid: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    this.privateKeys.set(kid, privateKey);
    this.keys.push({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' });
  }

  /** An access token as the service issues it; what is `undefined` is left out. */
  token(
    { kid = 'k1', typ = 'at+jwt', ...claims }: Record<string, unknown> & { kid?: string; typ?: string } = {},
    key = this.privateKeys.get(kid)!,
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const ids = { sub: randomUUID(), sid: randomUUID(), jti: randomUUID(), client_id: 'latchkey' };
    const payload = { iss: this.url, aud: this.url, ...ids, iat: now, exp: now + 3600, ...claims };
    return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', typ, kid }).sign(key);
  }

  /** To all open streams. */
  say(bytes: string): void {
    for (const stream of this.streams) stream.write(bytes);
  }

  tell(sessionId: string, until = Date.now() + 3_600_000): void {
    this.say(ended(sessionId, until));
  }

  /** How often a path was asked for. */
  count(path: string): number {
    return this.requests.filter((request) => request.endsWith(` ${path}`)).length;
  }

  async close(): Promise<void> {
    clearInterval(this.talking);
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(`${request.method} ${request.url}`);
    const body = await text(request).catch(() => '');
    if (request.url === '/.well-known/jwks.json') return this.jwks(request, response, body);
    if (request.url === '/oauth2/refresh') return this.refresh(request, response, body);
    if (request.headers.authorization !== `Bearer ${SERVICE_KEY}`)
      return void response.writeHead(401).end('{}');
    if (request.url === '/oauth2/introspect') return this.introspect(request, response, body);
    if (request.url !== '/sessions/ended') return this.other(request, response, body);
    this.cursors.push(String(request.headers['last-event-id'] ?? ''));
    this.stream(request, response, body);
  }
}

/** The event about a user's claims; they changed 20 s ago. */
export function claimsChanged(
  userId: string,
  claims: object,
  { changedAt = Date.now() - 20_000, until = Date.now() + 3_600_000 } = {},
): string {
  const data = {
    user_id: userId,
    claims,
    changed_at: new Date(changedAt),
    until: new Date(until),
  };
  return `event: claims_changed\ndata: ${JSON.stringify(data)}\n\n`;
}

export function ended(sessionId: string, until = Date.now() + 3_600_000): string {
  const data = {
    session_id: sessionId,
    user_id: randomUUID(),
    device_id: null,
    ended_at: new Date(),
    until: new Date(until),
  };
  return `event: ended\ndata: ${JSON.stringify(data)}\n\n`;
}
