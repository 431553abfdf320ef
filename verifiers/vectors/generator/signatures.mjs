import { hs256, ISSUER, keyOf, resigned, START, token } from './tokens.mjs';
import { accepted, any, keys, noKeys, refused, state } from './steps.mjs';

const NOW = START / 1000;
const flipped = ({ token: text, ...rest }) => {
  const [head, body, signature] = text.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  bytes[40] ^= 1;
  return { ...rest, token: `${head}.${body}.${bytes.toString('base64url')}` };
};
const good = token({ roles: ['admin'], claims: { plan: 'pro' } });
const [head, body, signature] = good.token.split('.');
const raw = (text) => ({ token: text });
const header = (change, more) => token({}, { header: change, ...more });

/** Name, token, whether it is accepted. */
const TABLE = [
  ['a good token', 'good', good, true],
  ['a token with a device', 'device', token({ device_id: 'd' }), true],
  ['a token of 12,000 characters', 'large', token({ claims: { note: 'x'.repeat(9000) } }), true],
  ['more than 16,384 characters', 'too-large', token({ claims: { note: 'x'.repeat(12_300) } }), false],
  ['an empty text', 'empty', raw(''), false],
  ['no JWT', 'no-jwt', raw('a.b.c'), false],
  ['two parts', 'two-parts', raw(`${head}.${body}`), false],
  ['four parts', 'four-parts', raw(`${good.token}.${signature}`), false],
  ['an empty signature', 'unsigned', raw(`${head}.${body}.`), false],
  ['a signature with one bit changed', 'flipped', flipped(good), false],
  ['a signature of zeros', 'zeros', resigned(good, () => Buffer.alloc(64).toString('base64url')), false],
  ['a signature cut short', 'short-signature', raw(good.token.slice(0, -4)), false],
  ['a signature in DER', 'der', token({ jti: 'der' }, { dsaEncoding: 'der' }), false],
  [
    'another payload',
    'other-payload',
    raw(`${head}.${token({ sub: 'eve' }).token.split('.')[1]}.${signature}`),
    false,
  ],
  ['the key of another', 'foreign-key', token({}, { key: 'foreign' }), false],
  ['a payload that is a list', 'list', token({}, { payload: ['ada'] }), false],
  ['alg none', 'none', resigned({ ...good, header: { ...good.header, alg: 'none' } }, () => ''), false],
  ['alg none with a signature', 'none-signed', header({ alg: 'none' }), false],
  [
    'alg HS256, keyed with the public key',
    'hs256',
    resigned({ ...good, header: { ...good.header, alg: 'HS256' } }, hs256('k1')),
    false,
  ],
  ['alg RS256', 'rs256', header({ alg: 'RS256' }), false],
  ['alg ES384', 'es384', header({ alg: 'ES384' }, { hash: 'sha384' }), false],
  ['alg ES256K', 'es256k', header({ alg: 'ES256K' }), false],
  ['no alg', 'no-alg', header({ alg: undefined }), false],
  [
    'its own key in the header',
    'jwk',
    header({ jwk: keyOf('foreign').publicJwk }, { key: 'foreign' }),
    false,
  ],
  [
    'an address of keys in the header',
    'jku',
    header({ jku: 'https://elsewhere.example/jwks.json' }, { key: 'foreign' }),
    false,
  ],
  ['a critical header that is unknown', 'crit', header({ crit: ['x'], x: 1 }), false],
  ['no kid', 'no-kid', header({ kid: undefined }, { key: 'k1' }), false],
  ['a kid that is no text', 'number-kid', header({ kid: 1 }, { key: 'k1' }), false],
  ['an unknown kid', 'unknown-kid', header({ kid: 'unknown' }), false],
  ['typ JWT', 'typ-jwt', header({ typ: 'JWT' }), false],
  ['no typ', 'no-typ', header({ typ: undefined }), false],
  ['typ logout+jwt', 'typ-logout', header({ typ: 'logout+jwt' }), false],
  ['typ application/at+jwt (RFC 9068 §4)', 'typ-application', header({ typ: 'application/at+jwt' }), true],
  ['another iss', 'iss', token({ iss: 'https://elsewhere.example' }), false],
  ['iss with a slash', 'iss-slash', token({ iss: `${ISSUER}/` }), false],
  ['no iss', 'no-iss', token({ iss: undefined }), false],
  ['another aud', 'aud', token({ aud: 'https://elsewhere.example' }), false],
  ['no aud', 'no-aud', token({ aud: undefined }), false],
  ['a list of aud with the issuer', 'aud-list', token({ aud: ['https://elsewhere.example', ISSUER] }), true],
  ['a list of other aud', 'aud-others', token({ aud: ['https://elsewhere.example'] }), false],
  ['exp in a second', 'exp-next', token({ exp: NOW + 1 }), true],
  ['exp now', 'exp-now', token({ exp: NOW }), false],
  ['no exp', 'no-exp', token({ exp: undefined }), false],
  ['exp as a text', 'exp-text', token({ exp: String(NOW + 3600) }), false],
  ['nbf now', 'nbf-now', token({ nbf: NOW }), true],
  ['nbf in a second', 'nbf-next', token({ nbf: NOW + 1 }), false],
  ['nbf as a text', 'nbf-text', token({ nbf: 'now' }), false],
  ['iat ahead of this clock', 'iat-ahead', token({ iat: NOW + 30 }), true],
  ['no iat', 'no-iat', token({ iat: undefined }), false],
  ['no sub', 'no-sub', token({ sub: undefined }), false],
  ['a sub that is no text', 'number-sub', token({ sub: 7 }), false],
  ['no sid', 'no-sid', token({ sid: undefined }), false],
  ['no jti', 'no-jti', token({ jti: undefined }), false],
];

/** Claims of a wrong type are left out: fewer rights, never more. */
const TYPES = [
  ['roles as a text', 'roles-text', { roles: 'administrator' }, {}],
  ['roles as an object', 'roles-object', { roles: { 0: 'admin', length: 1 } }, {}],
  ['roles with other things', 'roles-mixed', { roles: ['admin', 1] }, {}],
  ['claims as a list', 'claims-list', { claims: ['admin'], name: 'Ada' }, { name: 'Ada' }],
  [
    'roles among the other claims',
    'roles-inside',
    { claims: { roles: ['admin'] } },
    { claims: { roles: ['admin'] } },
  ],
  ['a name that is no text', 'name-list', { name: ['Ada'], email: 'a@b.c' }, { email: 'a@b.c' }],
  [
    'names of prototypes',
    'prototype',
    { claims: { constructor: 'x', toString: 1 } },
    { claims: { constructor: 'x', toString: 1 } },
  ],
];

const LEEWAY = [
  ['clockTolerance 30, exp 29 s ago', 'exp-29', token({ exp: NOW - 29 }), true],
  ['clockTolerance 30, exp 30 s ago', 'exp-30', token({ exp: NOW - 30 }), false],
  ['clockTolerance 30, nbf in 30 s', 'nbf-30', token({ nbf: NOW + 30 }), true],
  ['clockTolerance 30, nbf in 31 s', 'nbf-31', token({ nbf: NOW + 31 }), false],
];

const other = token({ sid: 'session-of-grace', sub: 'grace' }, { header: { kid: 'k2' } });
const long = token({ exp: NOW + 8 * 3600, jti: 'long' });
const bad = [
  token({ exp: NOW - 3600 }, { header: { kid: 'u1' } }),
  token({ iss: 'https://elsewhere.example' }, { header: { kid: 'u2' } }),
];

export function signatures(named) {
  const one =
    (options) =>
    ([name, id, value, isAccepted, user]) => {
      const it = named(id, value);
      return { name, options, steps: [isAccepted ? accepted(0, it, user) : refused(0, it)] };
    };
  const typed = TYPES.map(([name, id, claims, user]) => [name, id, token(claims), true, user]);
  const [ada, grace, eight] = [named('good', good), named('grace-k2', other), named('long', long)];
  return [
    ...[...TABLE, ...typed].map(one({})),
    ...LEEWAY.map(one({ clockTolerance: 30 })),
    {
      name: 'a new key is fetched when a token names it',
      options: {},
      steps: [accepted(0, ada), keys(2, 'k1', 'k2'), accepted(4, grace), accepted(4, ada)],
    },
    {
      name: 'an unknown key in the second after a fetch: 503 at once, while known ones are good',
      options: {},
      steps: [
        accepted(0, ada),
        keys(0.3, 'k1', 'k2'),
        refused(0.3, grace, 'temporarily_unavailable'),
        accepted(0.6, ada),
        refused(0.9, grace, 'temporarily_unavailable'),
        state(0.9, { mostKeyRequests: 1 }),
        accepted(1.1, grace),
        accepted(1.5, ada),
        refused(1.9, named('unknown-kid'), 'temporarily_unavailable'),
        refused(2.2, named('unknown-kid')),
        state(2.2, { mostKeyRequests: 3 }),
      ],
    },
    {
      name: 'no answer about the keys, while one is known: no request waits until there is an answer',
      options: {},
      steps: [
        accepted(0, ada),
        noKeys(1),
        refused(2, grace, 'temporarily_unavailable'),
        keys(3, 'k1', 'k2'),
        any(4, grace),
        accepted(4.5, grace),
        accepted(4.5, ada),
        state(4.5, { mostKeyRequests: 3 }),
      ],
    },
    {
      name: 'tokens that cannot be good cost no request, whatever key they name',
      options: {},
      steps: [
        ...bad.map((value, i) => refused(0, named(`hopeless-${i}`, value))),
        state(0, { mostKeyRequests: 0 }),
      ],
    },
    {
      name: 'no answer about the keys: 503, and the next token is good',
      options: {},
      steps: [noKeys(0), refused(0, ada, 'temporarily_unavailable'), keys(2, 'k1'), accepted(4, ada)],
    },
    {
      name: 'keys of other kinds and broken ones are passed over',
      options: {},
      steps: [keys(0, 'rsa', 'broken', 'k1'), accepted(0, ada)],
    },
    {
      name: 'known keys are used while the service is away, for an hour',
      options: {},
      steps: [
        accepted(0, eight),
        noKeys(1),
        any(1800, eight),
        accepted(1802, eight),
        refused(3700, eight, 'temporarily_unavailable'),
        keys(3702, 'k1'),
        accepted(3704, eight),
      ],
    },
    {
      name: 'a key that is no longer published: its tokens are refused, at the latest once the keys were fetched',
      options: {},
      steps: [accepted(0, eight), keys(1, 'k2'), any(600, eight), refused(602, eight)],
    },
    {
      name: 'a token expires while it is known',
      options: {},
      steps: [accepted(3599, ada), refused(3600, ada)],
    },
  ];
}
