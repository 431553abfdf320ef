import { createHmac, randomUUID, sign, type KeyObject, createPublicKey } from 'node:crypto';
import { makeKeyPair } from '../../src/token/keys/key-cipher.js';
import { makeSigningKey, reissue, type SigningKey } from './signing-key.js';

type Json = Record<string, unknown>;

const CURVE_ORDER = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551');

export interface Genuine {
  readonly token: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Texts that a careless verifier might take for the genuine token (security.md, JWT; RFC 8725): name and text. */
export function* mutantsOf({
  token,
  privateKey,
  publicKey,
}: Genuine): Generator<[name: string, token: string]> {
  const [head, body, signature] = token.split('.') as [string, string, string];
  const header = decode(head);
  const claims = decode(body);
  const es256 = (input: string, key = privateKey): string =>
    sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
  const signed = (h: Json, c: Json, key = privateKey): string =>
    withSignature(h, c, (input) => es256(input, key));

  // Another algorithm, with a signature that fits it.
  const publicForms = {
    pem: publicKey.export({ format: 'pem', type: 'spki' }),
    trimmed: publicKey.export({ format: 'pem', type: 'spki' }).toString().trim(),
    der: publicKey.export({ format: 'der', type: 'spki' }),
    jwk: JSON.stringify(publicKey.export({ format: 'jwk' })),
    empty: '',
  };
  const named = 'none None NONE nOnE ES384 ES512 RS256 PS256 EdDSA es256'.split(' ');
  for (const alg of [...named, 'none ', '', 'ES256 ', null, 0, ['ES256'], {}]) {
    yield [`alg ${JSON.stringify(alg)}, unsigned`, withSignature({ ...header, alg }, claims, () => '')];
    yield [
      `alg ${JSON.stringify(alg)}, signature kept`,
      withSignature({ ...header, alg }, claims, () => signature),
    ];
    yield [`alg ${JSON.stringify(alg)}, signed`, signed({ ...header, alg }, claims)];
  }
  for (const alg of ['HS256', 'HS384', 'HS512']) {
    for (const [name, key] of Object.entries(publicForms)) {
      const hmac = (input: string): string =>
        createHmac(`sha${alg.slice(2)}`, key)
          .update(input)
          .digest('base64url');
      yield [`${alg} with the public key as ${name}`, withSignature({ ...header, alg }, claims, hmac)];
    }
  }

  // Another key, or a header that brings or names one.
  const foreign = makeKeyPair();
  const jwk = foreign.publicKey.export({ format: 'jwk' });
  yield ['signed by another key', signed(header, claims, foreign.privateKey)];
  const extras: Json[] = [
    { jwk },
    { jku: 'http://127.0.0.1:1/jwks.json' },
    { x5u: 'http://127.0.0.1:1/cert.pem' },
    { x5c: ['AAAA'] },
    { crit: ['exp'] },
    { crit: [] },
    { b64: false, crit: ['b64'] },
    { zip: 'DEF' },
    { cty: 'JWT' },
    { enc: 'A128GCM' },
    { x: 1 },
  ];
  for (const extra of extras) {
    yield [
      `header with ${Object.keys(extra).join()}, another key`,
      signed({ ...header, ...extra }, claims, foreign.privateKey),
    ];
    yield [`header with ${Object.keys(extra).join()}, our key`, signed({ ...header, ...extra }, claims)];
  }
  const known = String(header['kid']);
  const paths = [
    '',
    ' ',
    '../../dev/null',
    '/dev/null',
    "' OR '1'='1",
    '__proto__',
    'constructor',
    'toString',
  ];
  const near = [null, 0, [known], { kid: known }, randomUUID(), `${known} `, `${known}\0`];
  const kids = [...paths, 'x'.repeat(10_000), '\0', ...near];
  for (const kid of kids) {
    yield [
      `kid ${JSON.stringify(kid).slice(0, 30)}, another key`,
      signed({ ...header, kid }, claims, foreign.privateKey),
    ];
    yield [`kid ${JSON.stringify(kid).slice(0, 30)}, our key`, signed({ ...header, kid }, claims)];
  }
  const types = ['JWT', 'jwt', 'AT+JWT', 'application/at+jwt', 'logout+jwt', 'dpop+jwt', ''];
  for (const typ of [...types, null, 1, ['at+jwt']]) {
    yield [`typ ${JSON.stringify(typ)}`, signed({ ...header, typ }, claims)];
  }
  for (const name of Object.keys(header))
    yield [`no ${name} in the header`, signed(without(header, name), claims)];

  // Our own key's signature over claims that were never issued.
  const texts = ['', 'x', '0', '9999999999', '__proto__', randomUUID(), '\0', '\ud800', 'x'.repeat(5000)];
  const values = [null, 0, -1, 1, 1e99, true, [], {}, ['a'], ...texts];
  for (const name of Object.keys(claims)) {
    yield [`no ${name}`, signed(header, without(claims, name))];
    yield [`${name} as an array of itself`, signed(header, { ...claims, [name]: [claims[name]] })];
    for (const value of values) {
      yield [`${name} ${JSON.stringify(value).slice(0, 30)}`, signed(header, { ...claims, [name]: value })];
    }
  }
  const now = Math.floor(Date.now() / 1000);
  for (const [name, value] of [
    ['exp', now - 1],
    ['exp', now + 1e6],
    ['exp', String(now + 100)],
    ['exp', now + 0.5],
    ['nbf', now + 60],
    ['iat', now + 60],
  ] as const) {
    yield [`${name} ${value}`, signed(header, { ...claims, [name]: value })];
  }
  for (const iss of [
    `${String(claims['iss'])}/`,
    String(claims['iss']).toUpperCase(),
    'https://evil.example',
  ]) {
    yield [`iss ${iss}`, signed(header, { ...claims, iss })];
    yield [`aud ${iss}`, signed(header, { ...claims, aud: iss })];
    yield [`aud [${iss}, ours]`, signed(header, { ...claims, aud: [iss, claims['aud']] })];
  }
  yield ['the same claims, signed once more', signed(header, claims)]; // genuine but for never having been issued

  // Other forms of the signature.
  const raw = Buffer.from(signature, 'base64url');
  const s = BigInt(`0x${raw.subarray(32).toString('hex')}`);
  const twin = Buffer.concat([
    raw.subarray(0, 32),
    Buffer.from((CURVE_ORDER - s).toString(16).padStart(64, '0'), 'hex'),
  ]);
  const der = sign('sha256', Buffer.from(`${head}.${body}`), privateKey);
  const signatures = {
    'the twin (r, n - s)': twin,
    DER: der,
    'r and s swapped': Buffer.concat([raw.subarray(32), raw.subarray(0, 32)]),
    zeros: Buffer.alloc(64),
    ones: Buffer.alloc(64, 0xff),
    empty: Buffer.alloc(0),
    'a byte less': raw.subarray(0, 63),
    'a byte more': Buffer.concat([raw, Buffer.alloc(1)]),
    half: raw.subarray(0, 32),
    long: Buffer.alloc(5000, 1),
  };
  for (const [name, bytes] of Object.entries(signatures))
    yield [`signature: ${name}`, `${head}.${body}.${bytes.toString('base64url')}`];
  for (let i = 0; i < 64; i++) {
    const flipped = Buffer.from(raw);
    flipped[i]! ^= 1 << (i % 8);
    yield [`signature: bit ${i} flipped`, `${head}.${body}.${flipped.toString('base64url')}`];
  }

  for (let i = 0; i < head.length + body.length; i += 5) {
    const other = token[i] === 'A' ? 'B' : 'A';
    yield [`character ${i} replaced`, token.slice(0, i) + other + token.slice(i + 1)];
  }

  // Truncated and extended tokens.
  for (let i = 1; i < token.length; i += Math.ceil(token.length / 60))
    yield [`cut at ${i}`, token.slice(0, i)];
  for (const [name, text] of Object.entries({
    'a character more': `${token}A`,
    padding: `${token}=`,
    'a fourth part': `${token}.`,
    'five parts, as a JWE has': `${head}.AAAA.AAAA.AAAA.AAAA`,
    'no header': `.${body}.${signature}`,
    'no claims': `${head}..${signature}`,
    'parts swapped': `${body}.${head}.${signature}`,
    twice: `${token}${token}`,
    'upper case': token.toUpperCase(),
    'claims that are an array': `${head}.${encode([])}.${es256(`${head}.${encode([])}`)}`,
    'claims that are null': `${head}.${encode(null)}.${es256(`${head}.${encode(null)}`)}`,
    'claims that are text': `${head}.${encode('x')}.${es256(`${head}.${encode('x')}`)}`,
    'a header that is null': `${encode(null)}.${body}.${signature}`,
    'a header that is not JSON': `AAAA.${body}.${signature}`,
    dots: '..',
    'a long text': 'a'.repeat(8000),
  })) {
    yield [name, text];
  }
}

function withSignature(header: Json, claims: Json, signature: (input: string) => string): string {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signature(input)}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(part: string): Json {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Json;
}

function without(object: Json, name: string): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));
}

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

// Mutants of an access token that are valid logout tokens.
const GENUINE = [
  /^typ "(JWT|jwt|logout\+jwt)"/,
  /^no (typ|kid) in the header/,
  /^no (sub|sid|exp)$|^(sub|sid|exp) null$/,
  /^aud as an array of itself|^aud \[/,
  /^exp (1e\+99|\d{10}(\.5)?)$/,
  /^(jti|sub|sid) "(x"|0"|9999999999"|__proto__"|[\da-f]{8}-)/,
  /^(sub|sid) (0|-1|1)$/, // a numeric id becomes text
  /^header with (jwk|jku|x5u|x5c|zip|cty|enc|x), our key/,
  /^the same claims, signed once more/,
  /^signature: the twin/, // the jti makes it a replay
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
