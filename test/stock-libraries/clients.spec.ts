import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { needs } from '../support/installed.js';
import { claimsOf, signIn } from '../support/sign-in.js';
import { browse } from './browse.js';
import { prepare, useService } from '../support/use.js';

const HTTP = { [oauth.allowInsecureRequests]: true }; // the address of a test is not https
const SERVICE_KEY = 'a-service_key.of~thirty+two/characters==';
const REDIRECT_URI = 'https://app.example/callback';
/** Of an application on a phone (RFC 8252 §7.1). */
const SCHEME = 'com.example.app:/callback';
const PYTHON = '/usr/bin/python3'; // the system's own: its packages are Debian's
const hasPython =
  process.env['CI'] !== undefined || // CI must have it
  spawnSync(PYTHON, ['-c', 'import requests_oauthlib, jwt, cryptography']).status === 0;

/** Libraries for OAuth clients sign users in, as they are (docs/stock-clients.md#with-others). */
describe('stock clients', () => {
  let issuer: URL;

  const { service } = useService({
    PROVIDERS_MOCK_ENABLED: 'false', // so that `stub` is the only one, and no client has to name it
    REDIRECT_URIS: `${REDIRECT_URI},${SCHEME}`,
    SERVICE_KEYS: SERVICE_KEY,
  });
  beforeAll(() => {
    issuer = new URL(service.url);
  });

  /** A configuration of openid-client, which knows nothing of the service but its address. */
  const discover = (id: string, authentication = client.None()): Promise<client.Configuration> =>
    client.discovery(issuer, id, undefined, authentication, {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
    });

  /** Its authorization URL; the verifier is checked with the answer. */
  async function begin(
    config: client.Configuration,
    more: Record<string, string> = {},
  ): Promise<[URL, string]> {
    const verifier = client.randomPKCECodeVerifier();
    const code_challenge = await client.calculatePKCECodeChallenge(verifier);
    const pkce = { code_challenge, code_challenge_method: 'S256' };
    return [client.buildAuthorizationUrl(config, { redirect_uri: REDIRECT_URI, ...pkce, ...more }), verifier];
  }

  describe('openid-client', () => {
    it.each([
      'a session without a key',
      'a session that is bound to a key (DPoP)',
      'a private scheme, and a session that is bound to a key (DPoP)',
    ])('%s', async (kind) => {
      const config = await discover('an app');
      const key = await client.randomDPoPKeyPair('ES256');
      const isBound = kind.includes('DPoP');
      const proofs = isBound ? { DPoP: client.getDPoPHandle(config, key) } : {};
      const user = randomUUID();
      const expectedState = client.randomState();
      const [url, pkceCodeVerifier] = await begin(config, {
        scope: 'profile',
        state: expectedState,
        ...(kind.includes('scheme') && { redirect_uri: SCHEME }),
      });
      const back = await browse(url, user);
      const checks = { pkceCodeVerifier, expectedState };
      const device = { device_id: randomUUID(), device_name: 'Laptop' }; // may be left out
      const tokens = await client.authorizationCodeGrant(config, back, checks, device, proofs);
      expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, user_id: expect.any(String) });

      const refresh = (): ReturnType<typeof client.refreshTokenGrant> =>
        client.refreshTokenGrant(config, tokens.refresh_token!, undefined, proofs);
      const { access_token } = await refresh();
      expect(claimsOf(access_token)).toMatchObject({ sub: tokens['user_id'], device_id: device.device_id });
      if (isBound) {
        const stolen = client.refreshTokenGrant(config, tokens.refresh_token!);
        await expect(stolen).rejects.toMatchObject({ error: 'invalid_dpop_proof' });
      }

      const api = await discover('an api', client.ClientSecretBasic(SERVICE_KEY));
      const active = async (token: string, token_type_hint: string): Promise<boolean> =>
        (await client.tokenIntrospection(api, token, { token_type_hint })).active;
      expect(await active(access_token, 'access_token')).toBe(true);
      expect(await active(tokens.refresh_token!, 'refresh_token')).toBe(true);
      await client.tokenRevocation(config, tokens.refresh_token!, { token_type_hint: 'refresh_token' });
      expect(await active(access_token, 'access_token')).toBe(false);
      await expect(refresh()).rejects.toMatchObject({ error: 'invalid_grant', status: 401 });
    });

    it('is told that the user declined', async () => {
      const config = await discover('an app');
      const [url, pkceCodeVerifier] = await begin(config);
      const back = await browse(url, 'ada', { error: 'access_denied' });
      const declined = client.authorizationCodeGrant(config, back, { pkceCodeVerifier });
      await expect(declined).rejects.toMatchObject({ error: 'access_denied' });
    });

    it('refuses an answer of another server (RFC 9207), and a code is good once', async () => {
      const config = await discover('an app');
      const [url, pkceCodeVerifier] = await begin(config);
      const back = await browse(url, 'ada');
      const elsewhere = new URL(back);
      elsewhere.searchParams.set('iss', 'https://elsewhere.example');
      const redeem = (from: URL) => client.authorizationCodeGrant(config, from, { pkceCodeVerifier });
      await expect(redeem(elsewhere)).rejects.toMatchObject({ code: 'OAUTH_INVALID_RESPONSE' });
      await redeem(back);
      await expect(redeem(back)).rejects.toMatchObject({ error: 'invalid_grant' });
    });
  });

  needs({ 'Python with requests-oauthlib and PyJWT': hasPython }).it(
    'requests-oauthlib and PyJWT',
    async () => {
      const user = randomUUID();
      const script = fileURLToPath(new URL('sign_in.py', import.meta.url));
      const { stdout } = await promisify(execFile)(PYTHON, [script, service.url, REDIRECT_URI, user]);
      const { user_id, ...seen } = JSON.parse(stdout) as { user_id: string };
      expect(seen).toMatchObject({
        claims: { sub: user_id, client_id: 'latchkey' },
        me: { user_id, username: 'Ada' },
        iss: [service.url],
        kept: true,
        after: 401,
      });
    },
  );

  // Libraries that an application's API may already have (RFC 9068).
  describe('verifiers of access tokens, as they are', () => {
    let forged: string;
    const tokens = prepare(() => signIn(service.url));
    beforeAll(async () => {
      const other = await signIn(service.url);
      forged = tokens.access_token.replace(/[^.]*$/, other.access_token.split('.')[2]!);
    });

    it('oauth4webapi: validateJwtAccessToken, with discovery', async () => {
      const found = await oauth.discoveryRequest(issuer, { ...HTTP, algorithm: 'oauth2' });
      const server = await oauth.processDiscoveryResponse(issuer, found);
      const validate = (token: string): Promise<oauth.JWTAccessTokenClaims> => {
        const request = new Request('https://api.example', { headers: { Authorization: `Bearer ${token}` } });
        return oauth.validateJwtAccessToken(server, request, service.url, HTTP);
      };
      expect(await validate(tokens.access_token)).toMatchObject({
        sub: tokens.user_id,
        client_id: 'latchkey',
      });
      await expect(validate(forged)).rejects.toMatchObject({ code: 'OAUTH_INVALID_RESPONSE' });
    });

    it('jose: jwtVerify with a remote key set', async () => {
      const keys = createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`));
      const { payload } = await jwtVerify(tokens.access_token, keys, {
        issuer: service.url,
        audience: service.url,
        typ: 'at+jwt',
      });
      expect(payload.sub).toBe(tokens.user_id);
      await expect(jwtVerify(forged, keys)).rejects.toMatchObject({
        code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
      });
    });
  });
});
