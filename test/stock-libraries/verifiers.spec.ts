import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { auth } from 'express-oauth2-jwt-bearer';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';

const HTTP = { [oauth.allowInsecureRequests]: true }; // the address of a test is not https

/** Libraries that an application's API may already have verify our access tokens as they are (RFC 9068; contract §5). */
describe('stock verifiers of access tokens', () => {
  let provider: StubProvider;
  let service: TestService;
  let tokens: Tokens;
  let forged: string;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService(provider.env());
    tokens = await signIn(service.url);
    const other = await signIn(service.url);
    forged = tokens.access_token.replace(/[^.]*$/, other.access_token.split('.')[2]!);
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  it('express-oauth2-jwt-bearer, strict, with discovery', async () => {
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

  it('oauth4webapi: validateJwtAccessToken, with discovery', async () => {
    const issuer = new URL(service.url);
    const found = await oauth.discoveryRequest(issuer, { ...HTTP, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const validate = (token: string): Promise<oauth.JWTAccessTokenClaims> => {
      const request = new Request('https://api.example', { headers: { Authorization: `Bearer ${token}` } });
      return oauth.validateJwtAccessToken(server, request, service.url, HTTP);
    };
    expect(await validate(tokens.access_token)).toMatchObject({ sub: tokens.user_id, client_id: 'latchkey' });
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
