import { generateKeyPairSync, sign } from 'node:crypto';
import { ClientKey, encode, type ProofParts } from '../../../test/support/dpop.js';
import { judgeProof, type ProvenCall } from './dpop-proof.js';

const HTU = 'https://id.example/oauth2/token';
const NOW = 1_800_000_000;
const CALL: ProvenCall = { isHtu: (address) => address === HTU, now: NOW * 1000 };

const key = new ClientKey();
const proof = (parts: ProofParts = {}): string =>
  key.proof(HTU, { ...parts, claims: { jti: 'one', iat: NOW, ...parts.claims } });
const [head, body, tail] = proof().split('.') as [string, string, string];
const { x, y } = key.jwk as { x: string; y: string };

/** A signature that OpenSSL makes with a key of another kind. */
function signedBy(kind: 'rsa' | 'secp256k1', alg: string): string {
  const pair =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: kind });
  const header = encode({ typ: 'dpop+jwt', alg, jwk: pair.publicKey.export({ format: 'jwk' }) });
  const signature = sign('sha256', Buffer.from(`${header}.${body}`), {
    key: pair.privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${header}.${body}.${signature.toString('base64url')}`;
}

/** The last character of base64url with another of the spellings of the same bytes. */
function respelled(part: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return part.slice(0, -1) + letters[letters.indexOf(part.at(-1)!) ^ 1];
}

describe('proofs of possession (RFC 9449 §4.3)', () => {
  it('a good one shows the thumbprint of its key (RFC 7638), and its id', async () => {
    expect(await judgeProof(proof(), CALL)).toEqual({ jkt: key.thumbprint, jti: 'one' });
  });

  it('the thumbprint of RFC 7638 does not change with members that have no part in it', async () => {
    const jwk = { use: 'sig', kid: 'mine', ext: true, key_ops: ['verify'], alg: 'ES256', ...key.jwk };
    expect(await judgeProof(proof({ header: { jwk } }), CALL)).toMatchObject({ jkt: key.thumbprint });
  });

  it.each<[string, ProofParts]>([
    ['made 60 s ago', { claims: { iat: NOW - 60 } }],
    ['made in 60 s', { claims: { iat: NOW + 60 } }],
    ['made within a second', { claims: { iat: NOW + 0.25 } }],
    ['whose id is long', { claims: { jti: 'x'.repeat(256) } }],
    ['with ath and nonce, which mean nothing here', { claims: { ath: 1, nonce: [] } }],
    ['with members of nobody’s', { header: { kid: 'a', 'x:y': [{ ':': '"' }] }, claims: { __proto: null } }],
    ['with members of the prototype', { claims: { constructor: 1, toString: { a: 1 } } }],
  ])('one %s is good', async (_name, parts) => {
    expect(await judgeProof(proof(parts), CALL)).toMatchObject({ jkt: key.thumbprint });
  });

  it('one of 4,096 characters is good, and a longer one is not', async () => {
    const ofLength = (length: number): string => {
      for (let pad = 2800; pad > 2600; pad--) {
        for (const kid of ['', 'x', 'xx']) {
          const one = proof({ header: { kid }, claims: { pad: 'x'.repeat(pad) } });
          if (one.length === length) return one;
        }
      }
      throw new Error('there is no such proof');
    };
    expect(await judgeProof(ofLength(4096), CALL)).toMatchObject({ jkt: key.thumbprint });
    expect(await judgeProof(ofLength(4097), CALL)).toBe('malformed');
  });

  it.each<[string, ProofParts]>([
    ...['none', 'HS256', 'ES384', 'ES512', 'RS256', 'EdDSA', 'es256', '', null, undefined, ['ES256']].map(
      (alg): [string, ProofParts] => [`alg ${JSON.stringify(alg)}`, { header: { alg } }],
    ),
    ...['JWT', 'at+jwt', 'DPOP+JWT', 'application/dpop+jwt', '', null, undefined, ['dpop+jwt']].map(
      (typ): [string, ProofParts] => [`typ ${JSON.stringify(typ)}`, { header: { typ } }],
    ),
    ['crit', { header: { crit: ['b64'], b64: true } }],
    ['crit that is empty', { header: { crit: [] } }],
    ['no jwk', { header: { jwk: undefined, kid: 'x', jku: 'https://evil.example', x5c: [] } }],
    ...[null, 'x', 1, true, [], {}, ['EC']].map((jwk): [string, ProofParts] => [
      `jwk ${JSON.stringify(jwk)}`,
      { header: { jwk } },
    ]),
    ['jwk with its private part', { header: { jwk: { ...key.jwk, d: x } } }],
    ['jwk with a private part that is null', { header: { jwk: { ...key.jwk, d: null } } }],
    ['kty oct', { header: { jwk: { kty: 'oct', k: x } } }],
    ['kty OKP', { header: { jwk: { kty: 'OKP', crv: 'Ed25519', x } } }],
    ['kty OKP of our curve', { header: { jwk: { ...key.jwk, kty: 'OKP' } } }],
    ['crv P-384', { header: { jwk: { ...key.jwk, crv: 'P-384' } } }],
    ['crv secp256k1', { header: { jwk: { ...key.jwk, crv: 'secp256k1' } } }],
    ['x with padding', { header: { jwk: { ...key.jwk, x: `${x}=` } } }],
    ['x in another spelling', { header: { jwk: { ...key.jwk, x: respelled(x) } } }],
    ['x in base64', { header: { jwk: { ...key.jwk, x: '+/'.repeat(21) + 'A' } } }],
    ['x a byte shorter', { header: { jwk: { ...key.jwk, x: x.slice(0, 42) } } }],
    ['x a byte longer', { header: { jwk: { ...key.jwk, x: `AA${x.slice(0, 42)}` } } }],
    ['no y', { header: { jwk: { ...key.jwk, y: undefined } } }],
    ['y as a number', { header: { jwk: { ...key.jwk, y: 7 } } }],
    ...['', 'x'.repeat(257), '\ud800', null, undefined, 7, ['one'], { a: 1 }].map(
      (jti): [string, ProofParts] => [`jti ${JSON.stringify(jti)?.slice(0, 20)}`, { claims: { jti } }],
    ),
    ...['1800000000', null, undefined, true, [NOW], {}].map((iat): [string, ProofParts] => [
      `iat ${JSON.stringify(iat)}`,
      { claims: { iat } },
    ]),
    ...[null, undefined, ['POST'], 1].map((htm): [string, ProofParts] => [
      `htm ${JSON.stringify(htm)}`,
      { claims: { htm } },
    ]),
    ...[null, undefined, [HTU], { href: HTU }].map((htu): [string, ProofParts] => [
      `htu ${JSON.stringify(htu)}`,
      { claims: { htu } },
    ]),
    ['long', { claims: { pad: 'x'.repeat(4096) } }],
  ])('%s: malformed', async (_name, parts) => {
    expect(await judgeProof(proof(parts), CALL)).toBe('malformed');
  });

  it.each<[string, string]>([
    ['empty', ''],
    ['no token at all', 'x'],
    ['two, as Node.js joins them', `${proof()}, ${proof()}`],
    ['two parts', `${head}.${body}`],
    ['a fourth part', `${head}.${body}.${tail}.`],
    ['dots', '.'.repeat(4000)],
    ['five parts, as a JWE has', `${head}.${body}.${tail}.${tail}.${tail}`],
    ['a space before it', ` ${proof()}`],
    ['padding', `${head}.${body}.${tail}=`],
    ['base64 instead of base64url', `${head}.${body}.${'+/'.repeat(43)}`],
    ['stray bits in the signature', `${head}.${body}.${respelled(tail)}`],
    ['no signature', `${head}.${body}.`],
    ['a signature that is too short', `${head}.${body}.${tail.slice(0, 43)}`],
    ['a header that is no JSON', key.signed(encode('{"typ":'), body)],
    ['a header that is null', key.signed(encode('null'), body)],
    ['a header that is an array', key.signed(encode([{}]), body)],
    ['claims that are text', key.signed(head, encode('"x"'))],
    ['claims that are an array', key.signed(head, encode('[]'))],
    ['claims after a byte order mark', key.signed(head, encode(`\ufeff${textOf(body)}`))],
    ['alg twice, last none', key.signed(encode(textOf(head).replace('}', '},"alg":"none"')), body)],
    ['members that come from a prototype', key.signed(encode(`{"__proto__":${textOf(head)}}`), body)],
    ['a header nested deep', key.signed(encode(`{"a":${'['.repeat(1400)}${']'.repeat(1400)}}`), body)],
    ['RS256', signedBy('rsa', 'RS256')],
    ['secp256k1', signedBy('secp256k1', 'ES256K')],
    ['secp256k1 that calls itself ES256', signedBy('secp256k1', 'ES256')],
  ])('%s: malformed', async (_name, header) => {
    expect(await judgeProof(header, CALL)).toBe('malformed');
  });

  it.each<[string, ProofParts]>([
    ['htm GET', { claims: { htm: 'GET' } }],
    ['htm post', { claims: { htm: 'post' } }],
    ['htu of another call', { claims: { htu: 'https://id.example/oauth2/refresh' } }],
  ])('%s: of another call', async (_name, parts) => {
    expect(await judgeProof(proof(parts), CALL)).toBe('call');
  });

  it.each([NOW - 60.001, NOW + 60.001, NOW - 3600, NOW * 1000, 0, -NOW, 1e300])(
    'iat %d: not of the present time',
    async (iat) => expect(await judgeProof(proof({ claims: { iat } }), CALL)).toBe('time'),
  );

  it.each<[string, string]>([
    ['another key’s', proof({ header: { jwk: new ClientKey().jwk } })],
    ['of other claims', `${head}.${encode({ ...claimsOf(body), jti: 'two' })}.${tail}`],
    ['zeros', `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`],
    ['of a point that is not on the curve', proof({ header: { jwk: { ...key.jwk, x: y, y: x } } })],
    [
      'of the point at zero',
      proof({ header: { jwk: { ...key.jwk, x: 'A'.repeat(43), y: 'A'.repeat(43) } } }),
    ],
    ['in DER, cut to size', `${head}.${body}.${derOf(`${head}.${body}`)}`],
  ])('a signature that is %s: forged', async (_name, header) => {
    expect(await judgeProof(header, CALL)).toBe('forged');
  });
});

function textOf(part: string): string {
  return Buffer.from(part, 'base64url').toString();
}

function claimsOf(part: string): object {
  return JSON.parse(textOf(part)) as object;
}

function derOf(text: string): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return sign('sha256', Buffer.from(text), privateKey).subarray(0, 64).toString('base64url');
}
