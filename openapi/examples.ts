/** Values that examples have in common. Tests put living ones in their place; those of PKCE are RFC 7636's, Appendix B. */
export const EXAMPLE = {
  provider: 'mock',
  redirectUri: 'http://localhost:3000/callback',
  issuer: 'http://localhost:3000',
  state: '4f1c0de2a7b93586e0d1f2c3b4a5968778695a4b3c2d1e0f90817263544536af',
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
  eventId: '9b2d7e64-1c3f-4a5b-8d6e-7f8091a2b3c4',
  providerUserId: 'u-1815',
  idempotencyKey: 'order-1815-paid',
  time: '2026-03-14T09:26:53.589Z',
  kid: '7Qx1gk2V9sY',
} as const;
