import type { Json } from './sources.js';

/** Values that examples share, with the PKCE values of RFC 7636, Appendix B. test/openapi/openapi-examples.spec.ts replaces some by values of a running service. */
export const EXAMPLE = {
  provider: 'mock',
  redirectUri: 'http://localhost:3000/callback',
  issuer: 'http://localhost:3000',
  state: '4f1c0de2a7b93586e0d1f2c3b4a5968778695a4b3c2d1e0f90817263544536af',
  testState: '0aa1d3f5b7c9e1a2034567890bcdef13579bdf02468ace13f5d7b9c1a2e3f405',
  code: 'SplxlOBeZQQYbYS6WxSbIA',
  codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  accessToken:
    'eyJhbGciOiJFUzI1NiIsImtpZCI6IjdRIiwidHlwIjoiYXQrand0In0.eyJzdWIiOiIwZjNjIn0.pKzhqCTp6dQr3x0mJmWZ8w',
  refreshToken: 'lkr_8MZ1n0q7cYvWJ3b5x2Kt9RfLhUeGsPdVaOiNyTwBmQjXzC4E6g',
  logoutToken: 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEiLCJ0eXAiOiJsb2dvdXQrand0In0.eyJzaWQiOiIwOGE1In0.c2lnbmF0dXJl',
  userId: '0f3c1a52-6b7d-8e9f-a0b1-c2d3e4f5a6b7',
  sessionId: '5a2f7c1e-93b4-4d68-8f07-1b2c3d4e5f60',
  deviceId: '7d444840-9dc0-41d1-b245-5ffdce74fad2',
  clientIdUrl: 'https://assistant.example/client.json',
  resource: 'https://api.example/mcp',
  userCode: 'BDFH-JLNP',
  cursor: '1735732800000000-7d444840-9dc0-41d1-b245-5ffdce74fad2',
  searchCursor: 'WyJlbWFpbCIsImFkYUBleGFtcGxlLmNvbSIsIjBmM2MxYTUyLTZiN2QtOGU5Zi1hMGIxLWMyZDNlNGY1YTZiNyJd',
  eventId: '9b2d7e64-1c3f-4a5b-8d6e-7f8091a2b3c4',
  providerUserId: 'u-1815',
  idempotencyKey: 'order-1815-paid',
} as const;

/** Bodies by operation id; test/openapi/openapi-examples.spec.ts sends each of them. */
export const BODIES: Readonly<Record<string, Json>> = {
  token: {
    'a sign-in on a device': {
      code: EXAMPLE.code,
      state: EXAMPLE.state,
      code_verifier: EXAMPLE.codeVerifier,
      redirect_uri: EXAMPLE.redirectUri,
      device_id: EXAMPLE.deviceId,
      device_name: "Ada's laptop",
    },
    'a refresh': { grant_type: 'refresh_token', refresh_token: EXAMPLE.refreshToken },
  },
  refresh: { 'a refresh': { refresh_token: EXAMPLE.refreshToken } },
  postedCallback: { 'the answer of Apple': { code: EXAMPLE.code, state: EXAMPLE.state } },
  callbackError: {
    'the callback has an error': {
      state: EXAMPLE.state,
      error: 'access_denied',
      error_description: 'The user denied the request',
    },
    'the user closed the dialog': { state: EXAMPLE.state, error: 'cancelled' },
  },
  revoke: {
    'a sign-out': { token: EXAMPLE.refreshToken },
    'a session that another one replaces': { token: EXAMPLE.refreshToken, reason: 'replaced' },
  },
  introspect: { 'an access token': { token: EXAMPLE.accessToken } },
  backchannelLogout: { 'a logout': { logout_token: EXAMPLE.logoutToken } },
  renameDevice: { 'a name': { device_name: "Ada's laptop" } },
  signOut: {
    'this device': { scope: 'current' },
    'all other devices': { scope: 'others' },
    'everywhere, and at the provider': {
      scope: 'all',
      provider_logout: { redirect_uri: 'https://app.example/goodbye' },
    },
  },
  authorizeDevice: {
    'a command line': { client_id: 'my-cli', device_name: 'build server' },
    'a device that knows its user': { client_id: 'my-cli', login_hint: 'ada@example.com' },
  },
  decideOnDevice: {
    'yes, to the code that the device shows': { approve: true },
    'yes, to a request that was pushed': { approve: true, number: '42' },
    no: { approve: false },
  },
  beginIdentity: { 'another provider': { provider: 'github' } },
  completeIdentity: {
    'what the callback has': { code: EXAMPLE.code, state: EXAMPLE.state },
  },
  mergeUsers: { 'of the answer identity_in_use': { merge_token: EXAMPLE.state } },
  joinIdentity: { 'a user who moves in': { provider: 'github', provider_user_id: '583231' } },
  push: {
    'an event': { user_id: EXAMPLE.userId, event: 'order.paid', data: { order: 1815, total: '12.50' } },
    'to a device that is connected': {
      user_id: EXAMPLE.userId,
      device_id: EXAMPLE.deviceId,
      event: 'call.incoming',
      ttl: 0,
    },
  },
  pushBatch: {
    'two events': {
      events: [
        { user_id: EXAMPLE.userId, event: 'order.paid', data: { order: 1815 } },
        { user_ids: [EXAMPLE.userId], event: 'price.changed', data: { price: '7.00' }, ttl: 0 },
      ],
    },
  },
  signOutUser: { 'one device': { device_id: EXAMPLE.deviceId }, everywhere: {} },
  createUser: {
    'a user who moves in': {
      provider: EXAMPLE.provider,
      provider_user_id: EXAMPLE.providerUserId,
      username: 'Ada Lovelace',
      email: 'ada@example.com',
      claims: { plan: 'pro' },
    },
  },
  suspendUser: { 'a user who may not sign in any more': { suspended: true } },
  setClaims: { 'an editor': { claims: { roles: ['editor'], plan: 'pro' } } },
  testProvider: {
    'begin a test': {},
    'the callback': { code: EXAMPLE.code, state: EXAMPLE.testState },
  },
  signOutFoundUser: {
    'a user': { provider: EXAMPLE.provider, provider_user_id: EXAMPLE.providerUserId },
  },
  signOutProgram: {
    'at all APIs': { client_id: EXAMPLE.clientIdUrl },
    'at one API': { client_id: EXAMPLE.clientIdUrl, resource: EXAMPLE.resource },
  },
};

const JWK: Readonly<Record<string, Json>> = {
  kty: { const: 'EC' },
  crv: { const: 'P-256' },
  x: { type: 'string', examples: ['f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'] },
  y: { type: 'string', examples: ['x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'] },
  kid: { type: 'string', examples: ['7Qx1gk2V9sY'] },
  use: { const: 'sig' },
  alg: { const: 'ES256' },
};

const object = (properties: Json, rest: Json = { additionalProperties: false }): Json => ({
  type: 'object',
  required: Object.keys(properties),
  ...rest,
  properties,
});

/** Contents of answers that no class describes, by operation id. */
export const CONTENTS: Readonly<Record<string, Json>> = {
  jwks: { 'application/json': { schema: object({ keys: { type: 'array', items: object(JWK) } }) } },
  endedSessions: { 'text/event-stream': { schema: { type: 'string' } } },
  auditStream: { 'text/event-stream': { schema: { type: 'string' } } },
  exportUser: { 'application/json': { schema: { $ref: '#/components/schemas/UserExport' } } },
  document: { 'application/json': { schema: object({ openapi: { type: 'string' }, paths: {} }, {}) } },
};
