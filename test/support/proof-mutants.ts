import { randomUUID } from 'node:crypto';
import { ClientKey, encode } from './dpop.js';

type Json = Record<string, unknown>;

const HEX_ORDER = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'; // of P-256

/** What is put in the place of each member. */
const VALUES: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1e300,
  true,
  [],
  {},
  ['POST'],
  { a: { b: 1 } },
  '\0',
  '\ud800',
  '__proto__',
  'x'.repeat(300),
];

/**
 * Proofs that are not good for a call, each with its name: forged, mutated, malformed, of another call or time.
 * @param key of the session
 * @param htu of the call
 */
export function* proofMutants(key: ClientKey, htu: string): Generator<[name: string, header: string]> {
  const foreign = new ClientKey();
  const proof = key.proof(htu);
  const [head, body, tail] = proof.split('.') as [string, string, string];
  const [header, claims] = [decode(head), decode(body)];
  const signed = (h: unknown, c: unknown): string => key.signed(encode(h), encode(c));

  yield ['another key', foreign.proof(htu)];
  yield ['another key that names ours', foreign.proof(htu, { header: { jwk: key.jwk } })];
  yield ['our key that names another', key.proof(htu, { header: { jwk: foreign.jwk } })];
  for (const [part, members] of [
    ['header', header],
    ['claims', claims],
  ] as const) {
    for (const name of Object.keys(members)) {
      yield [`no ${name}`, key.proof(htu, { [part]: { [name]: undefined } })];
      yield [`${name} as an array of itself`, key.proof(htu, { [part]: { [name]: [members[name]] } })];
      for (const value of VALUES) {
        // Any text that is not too long, and not blank, may be an id.
        if (name === 'jti' && [' ', '\0', '__proto__'].includes(value as string)) continue;
        yield [
          `${name} ${JSON.stringify(value).slice(0, 20)}`,
          key.proof(htu, { [part]: { [name]: value } }),
        ];
      }
    }
  }
  for (const name of Object.keys(key.jwk)) {
    for (const value of [undefined, ...VALUES, foreign.jwk['x']]) {
      yield [`jwk.${name}`, key.proof(htu, { header: { jwk: { ...key.jwk, [name]: value } } })];
    }
  }
  for (const alg of ['none', 'None', 'HS256', 'ES384', 'ES512', 'ES256K', 'RS256', 'PS256', 'EdDSA']) {
    yield [`alg ${alg}`, key.proof(htu, { header: { alg } })];
    yield [`alg ${alg} without a signature`, `${encode({ ...header, alg })}.${body}.`];
  }
  for (const typ of ['JWT', 'at+jwt', 'logout+jwt', 'DPOP+JWT', 'application/dpop+jwt']) {
    yield [`typ ${typ}`, key.proof(htu, { header: { typ } })];
  }
  for (const crit of [['exp'], ['b64'], [], 'exp', null]) {
    yield ['crit', key.proof(htu, { header: { crit, b64: false } })];
  }
  for (const htm of ['GET', 'post', 'POST ', 'OPTIONS', '*'])
    yield [htm, key.proof(htu, { claims: { htm } })];
  const { origin, host, pathname } = new URL(htu);
  for (const other of [
    origin,
    pathname,
    `${htu}/`,
    `${htu}.`,
    `${origin}.evil.example${pathname}`,
    `${origin}@evil.example${pathname}`,
    `https://evil.example${pathname}?${htu}`,
    `https://evil.example/#${htu}`,
    `${origin}/oauth2/authorize`,
    `${origin}/oauth2/revoke`,
    `${origin}${pathname.toUpperCase()}`,
    `${origin}/${pathname}`,
    `ftp://${host}${pathname}`,
    `https://${host}${pathname}`,
    `http://a:b@${host}${pathname}`,
  ]) {
    yield [`htu ${other}`, key.proof(other)];
  }
  const now = Math.floor(Date.now() / 1000);
  for (const off of [-86_400, -3600, -120, -70, 120, 3600, 86_400, 1e9]) {
    yield [`iat off by ${off}`, key.proof(htu, { claims: { iat: now + off } })];
  }
  yield ['iat in milliseconds', key.proof(htu, { claims: { iat: Date.now() } })];

  // The same proof with another signature. Its twin (r, n - s) is as good as the first: what counts is the `jti`.
  const raw = Buffer.from(tail, 'base64url');
  const order = Buffer.from(HEX_ORDER, 'hex');
  for (const [name, bytes] of Object.entries({
    'r and s swapped': Buffer.concat([raw.subarray(32), raw.subarray(0, 32)]),
    'r is the order': Buffer.concat([order, raw.subarray(32)]),
    's is the order': Buffer.concat([raw.subarray(0, 32), order]),
    zeros: Buffer.alloc(64),
    ones: Buffer.alloc(64, 0xff),
    empty: Buffer.alloc(0),
    'a byte less': raw.subarray(0, 63),
    'a byte more': Buffer.concat([raw, Buffer.alloc(1)]),
    long: Buffer.alloc(2000, 1),
    'of another text': key.sign(`${head}.${encode({ ...claims, jti: randomUUID() })}`),
    'of the claims alone': key.sign(body),
  })) {
    yield [`signature: ${name}`, `${head}.${body}.${bytes.toString('base64url')}`];
  }
  for (let bit = 0; bit < 512; bit += 5) {
    const flipped = Buffer.from(raw);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    yield [`signature: bit ${bit} flipped`, `${head}.${body}.${flipped.toString('base64url')}`];
  }
  for (let i = 0; i < head.length + body.length; i += 5) {
    const other = proof[i] === 'A' ? 'B' : 'A';
    yield [`character ${i} replaced`, proof.slice(0, i) + other + proof.slice(i + 1)];
  }
  for (let i = 1; i < proof.length; i += Math.ceil(proof.length / 60))
    yield [`cut at ${i}`, proof.slice(0, i)];

  for (const [name, text] of Object.entries({
    'a character more': `${proof}A`,
    padding: `${proof}=`,
    'a fourth part': `${proof}.`,
    'two with a comma': `${proof}, ${key.proof(htu)}`,
    'two with a space': `${proof} ${key.proof(htu)}`,
    'a scheme before it': `DPoP ${proof}`,
    'quotation marks': `"${proof}"`,
    twice: `${proof}${proof}`,
    swapped: `${body}.${head}.${tail}`,
    'no header': `.${body}.${tail}`,
    'no claims': `${head}..${tail}`,
    dots: '..',
    'upper case': proof.toUpperCase(),
    'not ASCII': `${proof}\u00e9`,
    'claims that are an array': signed(header, [claims]),
    'claims that are null': signed(header, null),
    'claims that are text': signed(header, 'x'),
    'a header that is null': signed(null, claims),
    'a header that is an array': signed([header], claims),
    'claims of a prototype': signed(header, `{"__proto__":${JSON.stringify(claims)}}`),
    'a header of a prototype': signed(`{"__proto__":${JSON.stringify(header)}}`, claims),
    'deep arrays': signed(header, `{"a":${'['.repeat(1200)}`),
    'a deep header': signed(`{"a":${'{"a":'.repeat(250)}1${'}'.repeat(251)}`, claims),
    long: key.proof(htu, { claims: { pad: 'x'.repeat(4000) } }),
    'very long': 'a'.repeat(12_000),
  })) {
    yield [name, text];
  }
}

function decode(part: string): Json {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Json;
}
