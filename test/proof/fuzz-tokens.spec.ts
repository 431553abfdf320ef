import { sign } from 'node:crypto';
import {
  calculateJwkThumbprint,
  compactVerify,
  decodeProtectedHeader,
  EmbeddedJWK,
  importJWK,
  jwtVerify,
  type JWK,
} from 'jose';
import { OAuthError } from '../../src/errors/oauth-error.js';
import { LogoutTokens } from '../../src/provider/logout/logout-tokens.js';
import { AccessTokenVerifier } from '../../src/token/access-token.verifier.js';
import { judgeProof } from '../../src/token/dpop-proof.js';
import { KeyService } from '../../src/token/key.service.js';
import { sameEndpoint } from '../../src/token/same-endpoint.js';
import { ClientKey } from '../support/dpop.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { fuzz, type Verdict } from './fuzz/fuzz.js';
import { mutatedJws, type GoodJws } from './fuzz/jws.js';
import { logoutByTheBook, type LogoutContext } from './fuzz/logout-reference.js';
import { mutatedBytes, mutatedText } from './fuzz/mutate.js';
import { Caller } from './fuzz/caller.js';

const HTU = 'http://localhost:3000/oauth2/refresh';

describe('proofs (RFC 9449)', () => {
  const key = new ClientKey();
  const now = 1_800_000_000;
  const isHtu = sameEndpoint(HTU, { loopback: true });
  const good: GoodJws = {
    header: { typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk },
    claims: { jti: 'an-id-of-a-proof', htm: 'POST', htu: HTU, iat: now },
    sign: (input) => key.sign(input),
    signsAnything: true,
  };

  /** What the proof must be for jose, and for RFC 9449 §4.3. */
  async function mustBeGood(proof: string, jti: string, jkt: Buffer): Promise<void> {
    // Not jwtVerify, which also judges `nbf` and `exp`: RFC 9449 §4.2 gives proofs an `iat`, and no others.
    const verified = await compactVerify(proof, EmbeddedJWK, { algorithms: ['ES256'] });
    const { protectedHeader } = verified;
    const payload = JSON.parse(new TextDecoder().decode(verified.payload)) as Record<string, unknown>;
    expect(protectedHeader.typ).toBe('dpop+jwt');
    const { htm, htu, iat } = payload as { htm: unknown; htu: string; iat: number };
    const address = new URL(htu);
    address.search = address.hash = '';
    const here =
      ['localhost', '[::1]'].includes(address.hostname) ||
      /^127\.\d+\.\d+\.\d+$|^\[::ffff:7f/.test(address.hostname);
    if (here) address.hostname = 'localhost';
    expect([htm, address.href, Math.abs(iat - now) <= 60, payload['jti']]).toEqual(['POST', HTU, true, jti]);
    expect(await calculateJwkThumbprint(protectedHeader.jwk as JWK)).toBe(jkt.toString('base64url'));
    expect(Object.keys(protectedHeader.jwk as JWK)).not.toContain('d');
  }

  it('that are accepted are good for jose as well, with the same key and id', async () => {
    await fuzz({
      name: 'DPoP proofs',
      short: 1000,
      full: 250_000,
      atOnce: 8,
      generate: (random) =>
        mutatedJws(random, {
          ...good,
          claims: {
            ...good.claims,
            ...(random.chance(0.3) && {
              htu: mutatedText(random, HTU, ['127.0.0.1', '[::1]', '?', '#', '@', '/..', '%2f']),
            }),
          },
        }),
      async judge(proof): Promise<Verdict> {
        const judged = await judgeProof(proof, { isHtu, now: now * 1000 });
        if (typeof judged === 'string') return 'refused';
        await mustBeGood(proof, judged.jti, judged.jkt);
        return 'accepted';
      },
    });
  });
});

describe('logout tokens (OpenID Connect Back-Channel Logout 1.0)', () => {
  it('are obeyed where the book says so, and nowhere else', async () => {
    const provider = new ClientKey();
    const [issuer, clientId, now] = ['https://idp.example', 'latchkey', 1_800_000_000];
    const jwk = { ...provider.jwk, kid: 'k1' };
    const documents: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': {
        issuer,
        jwks_uri: `${issuer}/jwks`,
        id_token_signing_alg_values_supported: ['ES256'],
      },
      '/jwks': { keys: [jwk] },
    };
    const http = {
      send: async ({ url }: { url: string }) => ({
        status: 200,
        contentType: 'application/json',
        body: Buffer.from(JSON.stringify(documents[new URL(url).pathname])),
      }),
    };
    const settings = { name: 'idp', url: issuer, clientId, adapter: 'oidc', options: {} };
    const tokens = new LogoutTokens(
      { get: () => ({ settings }) } as never,
      http as never,
      { now: () => now * 1000 } as never,
    );
    const context = { key: (await importJWK(jwk, 'ES256')) as LogoutContext['key'], issuer, clientId, now };
    const claims = {
      iss: issuer,
      aud: clientId,
      iat: now,
      exp: now + 120,
      jti: 'a-jti',
      sub: 'ada',
      sid: 'of-ada',
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    };
    await fuzz({
      name: 'logout tokens',
      short: 400,
      full: 120_000,
      atOnce: 8,
      generate: (random) =>
        mutatedJws(random, {
          header: { alg: 'ES256', kid: 'k1', typ: 'logout+jwt' },
          claims,
          sign: (input) => provider.sign(input),
          signsAnything: true,
        }),
      async judge(token): Promise<Verdict> {
        const expected = await logoutByTheBook(token, context);
        try {
          const { jti, subject, session, until } = await tokens.verify('idp', token);
          expect({ jti, sub: subject, sid: session }).toEqual({
            jti: expected?.['jti'],
            sub: expected?.['sub'] ?? null,
            sid: expected?.['sid'] ?? null,
          });
          expect(until > now && until <= now + 86_400 + 30).toBe(true);
          return 'accepted';
        } catch (error) {
          if (!(error instanceof OAuthError)) throw error;
          const isOfUnknownKey = error.status === 503 && decodeProtectedHeader(token).kid !== 'k1';
          if (error.error !== 'invalid_request' && !isOfUnknownKey) throw error;
          if (expected)
            throw new Error(`refused, against the book: ${(error.cause as Error).message}`, {
              cause: error,
            });
          return 'refused';
        }
      },
    });
  });
});

describe('tokens of a running service', () => {
  let provider: StubProvider;
  let service: TestService;
  let caller: Caller;
  let issued: Tokens[];

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService(provider.env());
    caller = new Caller(service.url);
    issued = [
      await signIn(service.url),
      await signIn(service.url, undefined, { device_id: '0189d3a0-0000-7000-8000-0123456789ab' }),
    ];
  });
  afterAll(async () => {
    caller?.close();
    await service?.close();
    await provider?.close();
  });

  it('access tokens that pass the signature are good for jose as well, with the same claims', async () => {
    const { privateKey, kid } = service.app.get(KeyService).signing;
    const verifier = service.app.get(AccessTokenVerifier);
    const { publicUrl } = service.settings;
    const keys = (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: JWK[] };
    const publicKey = await importJWK(
      keys.keys.find((one) => one.kid === kid)!,
      'ES256',
    );
    const header = { alg: 'ES256', typ: 'at+jwt', kid };
    const signed = (input: string): Buffer =>
      sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    await fuzz({
      name: 'access tokens, their signature and claims',
      short: 700,
      full: 250_000,
      generate: (random) =>
        mutatedJws(random, {
          header,
          claims: claimsOf(random.pick(issued).access_token),
          sign: signed,
          signsAnything: false,
        }),
      async judge(token): Promise<Verdict> {
        const passed = verifier['checkSignature'](token);
        if (!passed) return 'refused';
        const { payload } = await jwtVerify(token, publicKey, {
          algorithms: ['ES256'],
          issuer: publicUrl,
          audience: publicUrl,
          typ: 'at+jwt',
        });
        expect({ ...passed.claims }).toEqual(payload);
        return 'accepted';
      },
    });
  });

  it('access tokens are accepted only as they were issued, byte by byte', async () => {
    await fuzz({
      name: 'access tokens, GET /me',
      short: 80,
      full: 30_000,
      atOnce: 4,
      generate: (random) =>
        (random.chance(0.05)
          ? random.pick(issued).access_token
          : mutatedText(random, random.pick(issued).access_token, [
              '.',
              '=',
              ' ',
              ',',
              'Bearer ',
              issued[0]!.access_token,
            ])
        ).replaceAll(/[^\t -~\u0080-\u00ff]/g, ''),
      async judge(token): Promise<Verdict> {
        const { status, body } = await caller.call('GET', '/me', { Authorization: `Bearer ${token}` });
        const read = token.replace(/^ +|[ \t]+$/g, ''); // spaces before it (RFC 6750 §2.1), blanks at a header's end (RFC 9110 §5.5)
        const user = issued.find(({ access_token }) => access_token === read);
        expect([status, body['user_id'] ?? body['error']]).toEqual(
          user ? [200, user.user_id] : [401, 'invalid_token'],
        );
        return user ? 'accepted' : 'refused';
      },
    });
  });

  it('refresh tokens are accepted only as they were issued, byte by byte', async () => {
    await fuzz({
      name: 'refresh tokens',
      short: 100,
      full: 30_000,
      atOnce: 4,
      generate(random) {
        const token = random.pick(issued).refresh_token;
        const kind = random.below(8);
        if (kind === 0) return token;
        if (kind === 7)
          return random.pick([
            ` ${token}`,
            `${token} `,
            `${token}\n`,
            `\ufeff${token}`,
            `${token}=`,
            token.toUpperCase(),
          ]);
        if (kind < 4) return mutatedText(random, token, ['lkr_', '=', '+', '/', 'A', '\n', 'lkc_']);
        const bytes = Buffer.from(token.slice(4), 'base64url');
        const ids = Buffer.from(random.pick(issued).refresh_token.slice(4), 'base64url').subarray(0, 32);
        const changed = random.pick([
          mutatedBytes(random, bytes),
          Buffer.concat([bytes, Buffer.from([1])]),
          Buffer.concat([ids, bytes.subarray(32)]),
        ]);
        return `lkr_${changed.toString(random.pick(['base64url', 'base64url', 'base64']))}`;
      },
      async judge(token): Promise<Verdict> {
        const { status, body } = await caller.call(
          'POST',
          '/oauth2/refresh',
          { 'Content-Type': 'application/json' },
          JSON.stringify({ refresh_token: token }),
        );
        const isIssued = issued.some(({ refresh_token }) => refresh_token === token);
        const isText = token.trim() !== '' && token.isWellFormed() && !token.includes('\0');
        expect([status, body['error']]).toEqual(
          isIssued ? [200, undefined] : isText ? [401, 'invalid_grant'] : [400, 'invalid_request'],
        );
        return isIssued ? 'accepted' : 'refused';
      },
    });
  });
});
