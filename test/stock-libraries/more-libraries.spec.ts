import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { auth } from 'express-oauth2-jwt-bearer';
import * as client from 'openid-client';
import { AuthorizationCode } from 'simple-oauth2';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { browse } from './browse.js';
import { useService } from '../support/use.js';

const REDIRECT_URI = 'https://app.example/callback';

/** Libraries beside those of clients.spec.ts, as they are. They are in test/package.json. */
describe('stock libraries', () => {
  const { service } = useService({
    PROVIDERS_MOCK_ENABLED: 'false', // so that `stub` is the only one, and no client has to name it
    REDIRECT_URIS: REDIRECT_URI,
  });

  it('simple-oauth2, which insists on a secret', async () => {
    const app = new AuthorizationCode({
      client: { id: 'an app', secret: 'which nobody looks at' },
      auth: {
        tokenHost: service.url,
        authorizePath: '/oauth2/authorize',
        tokenPath: '/oauth2/token',
        revokePath: '/oauth2/revoke',
      },
    });
    const verifier = client.randomPKCECodeVerifier();
    const pkce = {
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    const state = randomUUID();
    const url = app.authorizeURL({ redirect_uri: REDIRECT_URI, scope: ['profile', 'email'], state, ...pkce });
    const { searchParams: back } = await browse(new URL(url), 'ada');
    expect(back.get('state')).toBe(state);
    const redeemed = { code: back.get('code')!, redirect_uri: REDIRECT_URI, code_verifier: verifier };
    const tokens = await app.getToken(redeemed);
    expect([tokens.token['token_type'], tokens.expired()]).toEqual(['Bearer', false]);
    const refreshed = await tokens.refresh();
    expect(claimsOf(refreshed.token['access_token'] as string)['sub']).toBe(tokens.token['user_id']);
    await tokens.revokeAll();
    await expect(tokens.refresh()).rejects.toMatchObject({
      data: { payload: { error: 'invalid_grant' } },
    });
  });

  it('express-oauth2-jwt-bearer, strict, with discovery', async () => {
    const tokens = await signIn(service.url);
    const other = await signIn(service.url);
    const forged = tokens.access_token.replace(/[^.]*$/, other.access_token.split('.')[2]!);
    const api = express();
    api.use(auth({ issuerBaseURL: service.url, audience: service.url, strict: true }));
    api.get('/', ({ auth: verified }, response) => void response.json(verified?.payload));
    const server = await new Promise<Server>((resolve) => {
      const listening = api.listen(0, '127.0.0.1', () => resolve(listening));
    });
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { body } = await bearer(url, tokens.access_token).get('/').expect(200);
      expect(body).toMatchObject({ sub: tokens.user_id, client_id: 'latchkey' });
      await bearer(url, forged).get('/').expect(401);
    } finally {
      server.close();
    }
  });
});
