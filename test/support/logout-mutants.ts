import { createPublicKey, randomUUID } from 'node:crypto';
import { mutantsOf } from './jwt-mutants.js';
import { reissue } from './oidc-issuer.js';
import { makeSigningKey, type SigningKey } from './signing-key.js';

type Part = Record<string, unknown>;

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** A logout token as a provider makes it (OpenID Connect Back-Channel Logout 1.0 §2.4). */
export function makeLogoutToken(
  key: SigningKey,
  claims: Part & { readonly iss: string },
  header: Part = {},
): string {
  const now = Math.floor(Date.now() / 1000);
  const usual = {
    aud: 'latchkey',
    iat: now,
    exp: now + 120,
    jti: randomUUID(),
    events: { [LOGOUT_EVENT]: {} },
  };
  const usualHeader = { alg: 'ES256', kid: key.jwk['kid'], typ: 'logout+jwt' };
  return reissue('e30.e30.', key, { ...usual, ...claims }, { ...usualHeader, ...header });
}

// Of the mutants of an access token: those that are signed by the provider and have all that a logout token needs.
const GENUINE = [
  /^typ "(JWT|jwt|logout\+jwt)"/,
  /^no (typ|kid) in the header/,
  /^no (sub|sid|exp)$/,
  /^aud as an array of itself|^aud \[/,
  /^exp (1e\+99|\d{10}(\.5)?)$/,
  /^(jti|sub|sid) "(x"|0"|9999999999"|__proto__"|[\da-f]{8}-)/,
  /^header with (jwk|jku|x5u|x5c|zip|cty|enc|x), our key/,
  /^the same claims, signed once more/,
  /^signature: the twin/, // the same token in the eyes of whoever looks at its jti
];

/** Texts that a careless receiver might take for a logout token of the provider: name and text. */
export function* logoutMutants(
  key: SigningKey,
  iss: string,
  sub: string,
  sid: string,
): Generator<[string, string]> {
  const names = { iss, sub, sid };
  const token = makeLogoutToken(key, names);
  const { privateKey, jwk } = key;
  for (const [name, text] of mutantsOf({ token, privateKey, publicKey: createPublicKey(privateKey) })) {
    if (!GENUINE.some((genuine) => genuine.test(name))) yield [name, text];
  }

  const now = Math.floor(Date.now() / 1000);
  const claims: Record<string, Part> = {
    'a nonce': { nonce: 'n' },
    'a nonce that is null': { nonce: null },
    'no events': { events: undefined },
    'other events': { events: { 'http://schemas.openid.net/event/backchannel-logouts': {} } },
    'the event alone, as text': { events: LOGOUT_EVENT },
    'the event in a list': { events: [LOGOUT_EVENT] },
    'the event as a prototype': { events: { ['__proto__']: { [LOGOUT_EVENT]: {} } } },
    'an event that is null': { events: { [LOGOUT_EVENT]: null } },
    'an event that is text': { events: { [LOGOUT_EVENT]: '{}' } },
    'an event that is a list': { events: { [LOGOUT_EVENT]: [] } },
    'an event that is true': { events: { [LOGOUT_EVENT]: true } },
    'neither sub nor sid': { sub: undefined, sid: undefined },
    'a sub that is long': { sub: 'x'.repeat(256) },
    'a sid that is long': { sid: 'x'.repeat(256) },
    'a jti that is long': { jti: 'x'.repeat(256) },
    'no jti': { jti: undefined },
    'it has expired': { exp: now - 1 },
    'it expired long ago': { exp: now - 3600, iat: now - 3720 },
    'no exp, and old': { exp: undefined, iat: now - 121 },
    'exp far away, and old': { exp: now + 1e9, iat: now - 86_401 },
    'no iat': { iat: undefined },
    'no iat and no exp': { iat: undefined, exp: undefined },
    'iat in the future': { iat: now + 3600, exp: now + 3720 },
    'iat in the future, no exp': { iat: now + 300, exp: undefined },
    'exp as text': { exp: String(now + 60) },
    'the client of somebody else': { aud: 'other' },
    'the clients of others': { aud: ['other', 'another'] },
    'the client in an object': { aud: { latchkey: 'latchkey' } },
    'the client as a part': { aud: 'latchkey other' },
    'no aud': { aud: undefined },
    'no iss': { iss: undefined },
    'the service as iss': { iss: 'http://localhost:3000' },
    'iss in a list': { iss: [iss] },
    'an ID token': { nonce: 'n', events: undefined, jti: undefined },
    'an ID token without nonce': { events: undefined },
  };
  for (const [name, change] of Object.entries(claims)) {
    yield [name, makeLogoutToken(key, { ...names, ...change })];
    yield [`${name}, without typ`, makeLogoutToken(key, { ...names, ...change }, { typ: undefined })];
  }
  for (const kid of [jwk['kid'], 'second', undefined]) {
    yield [
      `the key of somebody else, as ${String(kid)}`,
      makeLogoutToken(makeSigningKey('first'), names, { kid }),
    ];
  }
}
