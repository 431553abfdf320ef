import { generateKeyPair, SignJWT } from 'jose';
import { createVerifier, LatchkeyError, type Verifier } from '../src/index.js';
import { until } from '../../../test/support/waiting.js';
import { FakeService } from './support/fake-service.js';
import { useEach } from '../../../test/support/use.js';

/** Signatures and keys: without a service key, so that nothing else decides. */
describe('verify', () => {
  let verifier: Verifier;

  const service = useEach(() => FakeService.start());
  beforeEach(() => {
    verifier = createVerifier({ issuer: service.url });
  });

  const outcome = (token: string, by = verifier) =>
    by.verify(token).then(
      ({ sub }) => sub,
      (error: LatchkeyError) => `${error.status} ${error.code}`,
    );

  it('returns the claims of a valid token', async () => {
    const claims = {
      sub: 'u',
      sid: 's',
      device_id: 'd',
      jti: 'j',
      client_id: 'latchkey',
      iat: 1,
      exp: 9_999_999_999,
    };
    expect(await verifier.verify(await service.token(claims))).toEqual({
      iss: service.url,
      aud: service.url,
      ...claims,
    });
  });

  const now = (): number => Math.floor(Date.now() / 1000);
  it.each<[string, Record<string, unknown>]>([
    ['has expired', { exp: now() }],
    ['has no expiry', { exp: undefined }],
    ['is of another issuer', { iss: 'https://elsewhere.example' }],
    ['is for another audience', { aud: 'https://elsewhere.example' }],
    ['is another kind of JWT', { typ: 'JWT' }],
    ['names no user', { sub: undefined }],
    ['names no session', { sid: undefined }],
    ['has no id', { jti: undefined }],
  ])('refuses one that %s', async (_name, claims) => {
    expect(await outcome(await service.token(claims))).toBe('401 invalid_token');
  });

  it('refuses malformed tokens and foreign signatures, without details', async () => {
    const other = await generateKeyPair('ES256');
    const good = await service.token();
    const [header, payload, signature] = good.split('.') as [string, string, string];
    const none = Buffer.from('{"alg":"none","typ":"at+jwt","kid":"k1"}').toString('base64url');
    const hmac = new SignJWT({ iss: service.url, aud: service.url, exp: now() + 60 });
    const forged = [
      '',
      'x',
      'a.b.c',
      `${header}.${payload}.`,
      `${none}.${payload}.`,
      `${header}.${payload}x.${signature}`,
      `${good}.${signature}`,
      'x'.repeat(100_000),
      `${good}${'x'.repeat(9000)}`,
      await service.token({}, other.privateKey),
      await hmac
        .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'k1' })
        .sign(Buffer.from(JSON.stringify(service.keys[0]))),
      undefined as unknown as string,
    ];
    for (const token of forged) expect(await outcome(token)).toBe('401 invalid_token');
    const error = await verifier.verify(forged[9]!).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LatchkeyError);
    expect(JSON.stringify([error, String(error)])).not.toContain(signature);
    expect((error as Error).cause).toBeUndefined();
  });

  it('accepts expired tokens within `clockTolerance`', async () => {
    const late = await service.token({ exp: now() - 5, sub: 'u' });
    expect(await outcome(late)).toBe('401 invalid_token');
    expect(await outcome(late, createVerifier({ issuer: service.url, clockTolerance: 30 }))).toBe('u');
  });

  it.each([
    [{ issuer: 'id.example.com' }, 'issuer must be an http(s) address'],
    [{ issuer: 'https://id.example.com/latchkey' }, 'issuer must be an origin'],
    [{ issuer: 'https://id.example.com', url: 'redis://latchkey' }, 'url must be an http(s) address'],
    [{ issuer: 'https://id.example.com', serviceKey: 'secret\n' }, 'serviceKey must be printable'],
    [
      { issuer: 'https://id.example.com', serviceKey: undefined as unknown as string },
      'serviceKey is undefined',
    ],
    [
      { issuer: 'https://id.example.com', whenAway: 'allow' as 'accept' },
      'whenAway must be one of introspect, accept, refuse',
    ],
    [{ issuer: 'https://id.example.com', clockTolerance: -1 }, 'clockTolerance must be 0 to 300'],
  ])('rejects the options %j at the start', (options, message) => {
    expect(() => createVerifier(options)).toThrow(message);
    expect(() => createVerifier(options)).not.toThrow('secret');
  });

  describe('the Authorization header', () => {
    const failure = (authorization?: string) =>
      verifier
        .authenticate({ headers: { ...(authorization !== undefined && { authorization }) } })
        .catch((error: LatchkeyError) => [error.status, error.headers['WWW-Authenticate']]);

    it('is read of Node.js’s requests and of the web’s', async () => {
      const authorization = `bearer  ${await service.token({ sub: 'u' })}`;
      expect(await verifier.authenticate({ headers: { authorization } })).toMatchObject({ sub: 'u' });
      const request = new Request('http://localhost/', { headers: { authorization } });
      expect(await verifier.authenticate(request)).toMatchObject({ sub: 'u' });
    });

    it.each([
      [undefined, 'Bearer'],
      ['Basic dTpw', 'Bearer'],
      ['Bearer', 'Bearer error="invalid_token"'],
      ['Bearer a b', 'Bearer error="invalid_token"'],
      ['Bearer x', 'Bearer error="invalid_token"'],
    ])('%j: 401 with the challenge %s', async (header, challenge) => {
      expect(await failure(header)).toEqual([401, challenge]);
    });
  });

  describe('keys', () => {
    it('are fetched once for concurrent calls, and not again', async () => {
      const token = await service.token({ sub: 'u' });
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => outcome(token)));
      expect(new Set(outcomes)).toEqual(new Set(['u']));
      expect(service.count('/.well-known/jwks.json')).toBe(1);
    });

    it('that are new are fetched when a token names them; made-up ones cost one fetch a second', async () => {
      await outcome(await service.token());
      await service.addKey('k2');
      const began = performance.now();
      const made = await Promise.all(
        Array.from({ length: 300 }, async (_, i) =>
          outcome(await service.token({ kid: `x${i}` }, (await generateKeyPair('ES256')).privateKey)),
        ),
      );
      // A request that begins a fetch learns that its key does not exist; in the pause before it, no request waits.
      const unknown = made.filter((one) => one === '401 invalid_token').length;
      expect(unknown).toBeLessThan(service.count('/.well-known/jwks.json'));
      expect(made.filter((one) => one === '503 temporarily_unavailable')).toHaveLength(300 - unknown);
      await until(async () => (await outcome(await service.token({ kid: 'k2', sub: 'u' }))) === 'u');
      const seconds = (performance.now() - began) / 1000;
      expect(service.count('/.well-known/jwks.json')).toBeLessThanOrEqual(2 + seconds);
    });

    it('are not asked for by tokens that cannot be good', async () => {
      const { privateKey } = await generateKeyPair('ES256');
      for (const claims of [{ exp: now() - 1 }, { iss: 'https://elsewhere.example' }, { exp: undefined }])
        expect(await outcome(await service.token({ kid: 'x', ...claims }, privateKey))).toBe(
          '401 invalid_token',
        );
      expect(service.requests).toEqual([]);
    });

    it('answered with anything else: 503 until the next fetch', async () => {
      const faults: Record<string, FakeService['jwks']> = {
        error: (_, response) => response.writeHead(500).end('{"error":"server_error"}'),
        noKeySet: (_, response) => response.end('{"keys":"none"}'),
        tooLong: (_, response) => response.end('x'.repeat(100_000)),
        redirect: (_, response) => response.writeHead(302, { Location: '/' }).end(),
        broken: (_, response) => response.destroy(),
      };
      const seen = Object.entries(faults).map(async ([name, jwks]) => {
        const faulty = await FakeService.start();
        const good = faulty.jwks;
        faulty.jwks = jwks;
        const one = createVerifier({ issuer: faulty.url });
        const token = await faulty.token({ sub: 'u' });
        const { status, code, headers } = (await one
          .verify(token)
          .catch((reason: unknown) => reason)) as LatchkeyError;
        faulty.jwks = good;
        await until(async () => (await outcome(token, one)) === 'u');
        await faulty.close();
        return [name, status, code, headers];
      });
      const unavailable = [503, 'temporarily_unavailable', { 'Retry-After': '1' }];
      expect(await Promise.all(seen)).toEqual(Object.keys(faults).map((name) => [name, ...unavailable]));
    });

    it('of other kinds and broken ones are passed over', async () => {
      service.keys.unshift({ kty: 'RSA', kid: 'r' }, { kty: 'EC', crv: 'P-256', x: 'no', y: 'no', kid: 'b' });
      expect(await outcome(await service.token({ sub: 'u' }))).toBe('u');
    });

    it('that are known are used while the service is away', async () => {
      const token = await service.token({ sub: 'u' });
      expect(await outcome(token)).toBe('u');
      await service.close();
      expect(await outcome(token)).toBe('u');
      await until(
        async () =>
          (await outcome(await service.token({ kid: 'x' }, (await generateKeyPair('ES256')).privateKey))) ===
          '503 temporarily_unavailable',
      );
    });
  });
});
