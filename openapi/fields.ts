import { EXAMPLE } from './examples.js';
import type { Json } from './sources.js';

const uuid = (example: string): Json => ({ format: 'uuid', examples: [example] });
const url = (example: string): Json => ({ format: 'uri', examples: [example] });
const seconds = { type: 'integer', minimum: 0 };
const second = { type: 'integer', examples: [1773480413] };

/** What a member of that name, or of a class, is in every answer and body, beyond its type in TypeScript. */
export const FIELDS: Readonly<Record<string, Json>> = {
  access_token: { examples: [EXAMPLE.accessToken] },
  refresh_token: { examples: [EXAMPLE.refreshToken] },
  expires_in: { ...seconds, examples: [3600] },
  state: { examples: [EXAMPLE.state] },
  code: { examples: [EXAMPLE.code] },
  code_verifier: { examples: [EXAMPLE.codeVerifier] },
  code_challenge: { examples: [EXAMPLE.codeChallenge] },
  code_challenge_method: { examples: ['S256'] },
  cursor: { examples: [EXAMPLE.cursor] },
  'UsersDto.cursor': { examples: [EXAMPLE.searchCursor] },
  provider: { examples: [EXAMPLE.provider] },
  redirect_uri: { examples: [EXAMPLE.redirectUri] },
  redirect_url: url('https://login.example/oauth2/authorize?state=…'),
  name: { examples: [EXAMPLE.provider] },
  label: { examples: ['Sample provider'] },
  issuer: url(EXAMPLE.issuer),
  user_id: uuid(EXAMPLE.userId),
  device_id: uuid(EXAMPLE.deviceId),
  session_id: uuid(EXAMPLE.sessionId),
  device_name: { examples: ["Ada's laptop"] },
  user_agent: { examples: ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'] },
  browser: { examples: ['Firefox 140'] },
  os: { examples: ['Linux'] },
  address: { examples: ['203.0.113.7'] },
  q: { examples: ['ada'] },
  role: { examples: ['editor'] },
  limit: { examples: ['50'] },
  username: { examples: ['Ada Lovelace'] },
  email: { examples: ['ada@example.com'] },
  avatar_url: { examples: ['https://example.com/ada.png'] },
  provider_user_id: { examples: [EXAMPLE.providerUserId] },
  sub: uuid(EXAMPLE.userId),
  sid: uuid(EXAMPLE.sessionId),
  jti: uuid(EXAMPLE.eventId),
  id: uuid(EXAMPLE.eventId),
  iat: second,
  exp: second,
  iss: url(EXAMPLE.issuer),
  aud: url(EXAMPLE.issuer),
  offset: { type: 'integer', minimum: 1, examples: [42] },
  event: { examples: ['order.paid'] },
  claims: { examples: [{ roles: ['editor'], plan: 'pro' }] },
  provider_claims: { examples: [{ roles: ['reader'] }] },
  effective: { examples: [{ roles: ['reader', 'editor'], plan: 'pro' }] },
  at: { format: 'date-time' },
  since: { examples: ['2026-01-31T00:00:00Z'] },
  until: { examples: ['2026-02-01T00:00:00Z'] },
  ttl: { examples: [86_400] },
};
