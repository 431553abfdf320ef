import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify, type JWK } from 'jose';
import type { LatchkeyError } from '../latchkey-error.js';
import { ProofKey } from './proof-key.js';
import { TokenCalls } from './token-calls.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A service with another clock, and one that fails. */
describe('calls for tokens', () => {
  let answer: Answer;
  let calls: TokenCalls;
  let requests: number;
  const server = createServer((request, response) => {
    requests++;
    void text(request).then(() => answer(request, response));
  });
  const issuer = 'https://id.example';

  beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    requests = 0;
    calls = new TokenCalls({ issuer, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });

  const key = new ProofKey('a secret of an application');
  const TOKEN = { access_token: 't', expires_in: 60 };
  const json = (response: ServerResponse, status: number, body: unknown, headers = {}): void =>
    void response.writeHead(status, headers).end(JSON.stringify(body));
  const call = () =>
    calls
      .token('/oauth2/refresh', { refresh_token: 'r' }, { proofs: key })
      .catch(({ code, status }: LatchkeyError) => [code, status]);
  /** Accepts proofs as the service does, by its clock. */
  const withClock =
    (aheadMs: number): Answer =>
    async ({ headers }, response) => {
      const { payload, protectedHeader } = await jwtVerify(String(headers['dpop']), EmbeddedJWK);
      const now = Date.now() + aheadMs;
      const isGood = Math.abs(payload.iat! * 1000 - now) < 60_000 && !('d' in protectedHeader.jwk!);
      const date = { Date: new Date(now).toUTCString() };
      expect(payload).toMatchObject({ htm: 'POST', htu: `${issuer}/oauth2/refresh` });
      if (isGood) json(response, 200, TOKEN, date);
      else json(response, 400, { error: 'invalid_dpop_proof', error_description: 'x' }, date);
    };

  it.each([0, 3_600_000, -3_600_000])('take the time of the service: %i ms ahead', async (ms) => {
    answer = withClock(ms);
    expect(await call()).toEqual(TOKEN);
    expect(requests).toBe(ms === 0 ? 1 : 2);
    requests = 0;
    expect(await call()).toEqual(TOKEN);
    expect(requests).toBe(1); // the clock is known now
  });

  it('repeat once with a new proof if the connection breaks', async () => {
    const proofs = new Set<unknown>();
    answer = ({ headers, socket }, response) => {
      proofs.add(headers['dpop']);
      if (requests === 1) socket.destroy();
      else json(response, 200, TOKEN);
    };
    expect(await call()).toEqual(TOKEN);
    expect(proofs.size).toBe(2);
    answer = ({ socket }) => void socket.destroy();
    requests = 0;
    expect(await call()).toEqual(['temporarily_unavailable', 503]);
    expect(requests).toBe(2);
  });

  it.each<[string, number, unknown, [string, number]]>([
    ['a dead session', 401, { error: 'invalid_grant' }, ['invalid_grant', 401]],
    ['a proof that is refused twice', 400, { error: 'invalid_dpop_proof' }, ['temporarily_unavailable', 503]],
    ['too many calls', 429, { error: 'slow_down' }, ['temporarily_unavailable', 503]],
    ['a failure', 500, { error: 'server_error' }, ['temporarily_unavailable', 503]],
    ['a page of a gateway', 403, '<html>', ['temporarily_unavailable', 503]],
    ['an answer without a token', 200, { expires_in: 60 }, ['temporarily_unavailable', 503]],
    ['a token that is none', 200, { access_token: 7, expires_in: 60 }, ['temporarily_unavailable', 503]],
    ['null', 200, null, ['temporarily_unavailable', 503]],
  ])('report %s', async (_name, status, body, expected) => {
    answer = (_request, response) => json(response, status, body);
    expect(await call()).toEqual(expected);
    expect(requests).toBeLessThanOrEqual(2);
  });

  it('have the address of the user, if it is known', async () => {
    const seen: unknown[] = [];
    answer = ({ headers }, response) => {
      seen.push(headers['x-forwarded-for']);
      json(response, 200, TOKEN);
    };
    const address = '203.0.113.7';
    await calls.token('/oauth2/refresh', {}, { proofs: key, address });
    await calls.revoke('r', 'user', { address });
    await calls.signOut('https://app.example/', { accessToken: 't', address });
    await call();
    expect(seen).toEqual([address, address, address, undefined]);
  });

  it('follow no redirect with a token', async () => {
    answer = (_request, response) => json(response, 307, {}, { Location: '/elsewhere' });
    expect(await call()).toEqual(['temporarily_unavailable', 503]);
  });
});

it('derives one key from a secret, and another from another', async () => {
  const thumbprint = async (secret: string): Promise<string> => {
    const proof = await new ProofKey(secret).proof('https://id.example/oauth2/token', Date.now());
    const { protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: ['ES256'],
      typ: 'dpop+jwt',
    });
    return calculateJwkThumbprint(protectedHeader.jwk as JWK);
  };
  expect(await thumbprint('one')).toBe(await thumbprint('one'));
  expect(await thumbprint('one')).not.toBe(await thumbprint('two'));
});
