import { generateKeyPairSync, sign } from 'node:crypto';
import { ClientKey, encode, type ProofParts } from '../../../test/support/dpop.js';
import { validateProof, type ProvenCall } from './dpop-proofs.js';

const HTU = 'https://id.example/oauth2/token';
const NOW = 1_800_000_000;
const CALL: ProvenCall = { method: 'POST', isHtu: (address) => address === HTU, now: NOW * 1000 };

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

/** Changes the last character of base64url to another encoding of equal bytes. */
function respelled(part: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return part.slice(0, -1) + letters[letters.indexOf(part.at(-1)!) ^ 1];
}

describe('proofs of possession (RFC 9449 §4.3)', () => {
  it('a valid one has the thumbprint of its key (RFC 7638) and its id', async () => {
    expect(await validateProof(proof(), CALL)).toEqual({ jkt: key.thumbprint, jti: 'one' });
  });

  it('other members of the key do not change the thumbprint (RFC 7638)', async () => {
    const jwk = { use: 'sig', kid: 'mine', ext: true, key_ops: ['verify'], alg: 'ES256', ...key.jwk };
    expect(await validateProof(proof({ header: { jwk } }), CALL)).toMatchObject({ jkt: key.thumbprint });
  });

  it.each<[string, ProofParts]>([
    ['made 60 s ago', { claims: { iat: NOW - 60 } }],
    ['made in 60 s', { claims: { iat: NOW + 60 } }],
    ['made within a second', { claims: { iat: NOW + 0.25 } }],
    ['whose id is long', { claims: { jti: 'x'.repeat(256) } }],
    ['with ath and nonce, which are ignored', { claims: { ath: 1, nonce: [] } }],
    ['with unknown members', { header: { kid: 'a', 'x:y': [{ ':': '"' }] }, claims: { __proto: null } }],
    ['with members of the prototype', { claims: { constructor: 1, toString: { a: 1 } } }],
  ])('one %s is good', async (_name, parts) => {
    expect(await validateProof(proof(parts), CALL)).toMatchObject({ jkt: key.thumbprint });
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
    expect(await validateProof(ofLength(4096), CALL)).toMatchObject({ jkt: key.thumbprint });
    expect(await validateProof(ofLength(4097), CALL)).toBe('malformed');
  });

  it.each<[string, ProofParts]>([
    ...['none', 'None', 'HS256', 'RS256', 'ES384', 'es256', 'EdDSA'].map((alg): [string, ProofParts] => [
      `alg ${JSON.stringify(alg)}`,
      { header: { alg } },
    ]),
    ...['JWT', 'at+jwt', 'DPOP+JWT', 'application/dpop+jwt'].map((typ): [string, ProofParts] => [
      `typ ${JSON.stringify(typ)}`,
      { header: { typ } },
    ]),
    ...[['b64'], [], 'exp', null].map((crit): [string, ProofParts] => [
      'crit',
      { header: { crit, b64: true } },
    ]),
    ['no jwk', { header: { jwk: undefined, kid: 'x', jku: 'https://evil.example', x5c: [] } }],
    ['jwk with its private part', { header: { jwk: { ...key.jwk, d: x } } }],
    ['jwk with a private part that is null', { header: { jwk: { ...key.jwk, d: null } } }],
    ['kty oct', { header: { jwk: { kty: 'oct', k: x } } }],
    ['kty OKP', { header: { jwk: { kty: 'OKP', crv: 'Ed25519', x } } }],
    ['crv P-384', { header: { jwk: { ...key.jwk, crv: 'P-384' } } }],
    ['crv secp256k1', { header: { jwk: { ...key.jwk, crv: 'secp256k1' } } }],
    ['x with padding', { header: { jwk: { ...key.jwk, x: `${x}=` } } }],
    ['x in another spelling', { header: { jwk: { ...key.jwk, x: respelled(x) } } }],
    ['x a byte shorter', { header: { jwk: { ...key.jwk, x: x.slice(0, 42) } } }],
    ['jti of 257 characters', { claims: { jti: 'x'.repeat(257) } }],
    ['iat as text', { claims: { iat: '1800000000' } }],
    ['iat in a list', { claims: { iat: [NOW] } }],
    ['htm in a list', { claims: { htm: ['POST'] } }],
    ['htu in a list', { claims: { htu: [HTU] } }],
    ['long', { claims: { pad: 'x'.repeat(4096) } }],
  ])('%s: malformed', async (_name, parts) => {
    expect(await validateProof(proof(parts), CALL)).toBe('malformed');
  });

  it.each<[string, string]>([
    ['empty', ''],
    ['no token at all', 'x'],
    ['two, as Node.js joins them', `${proof()}, ${proof()}`],
    ['two parts', `${head}.${body}`],
    ['a fourth part', `${head}.${body}.${tail}.`],
    ['five parts, as a JWE has', `${head}.${body}.${tail}.${tail}.${tail}`],
    ['padding', `${head}.${body}.${tail}=`],
    ['base64 instead of base64url', `${head}.${body}.${'+/'.repeat(43)}`],
    ['stray bits in the signature', `${head}.${body}.${respelled(tail)}`],
    ['no signature', `${head}.${body}.`],
    ['a signature that is too short', `${head}.${body}.${tail.slice(0, 43)}`],
    ['a header that is no JSON', key.signed(encode('{"typ":'), body)],
    ['a header that is null', key.signed(encode('null'), body)],
    ['claims that are text', key.signed(head, encode('"x"'))],
    ['claims after a byte order mark', key.signed(head, encode(`\ufeff${textOf(body)}`))],
    ['alg twice, last none', key.signed(encode(textOf(head).replace('}', '},"alg":"none"')), body)],
    ['members that come from a prototype', key.signed(encode(`{"__proto__":${textOf(head)}}`), body)],
    ['a header nested deep', key.signed(encode(`{"a":${'['.repeat(1400)}${']'.repeat(1400)}}`), body)],
    ['RS256', signedBy('rsa', 'RS256')],
    ['secp256k1', signedBy('secp256k1', 'ES256K')],
    ['secp256k1 that calls itself ES256', signedBy('secp256k1', 'ES256')],
  ])('%s: malformed', async (_name, header) => {
    expect(await validateProof(header, CALL)).toBe('malformed');
  });

  it('no member can have another value', async () => {
    const values = [undefined, null, '', 0, -1, 1e300, true, [], {}, '\ud800', 'x'.repeat(300), '__proto__'];
    for (const value of values) {
      const headers = [{ typ: value }, { alg: value }, { jwk: value }];
      const jwks = Object.keys(key.jwk).map((name) => ({ jwk: { ...key.jwk, [name]: value } }));
      for (const header of [...headers, ...jwks])
        expect([header, await validateProof(proof({ header }), CALL)]).toEqual([header, 'malformed']);
      const names = value === '__proto__' ? ['htm', 'htu', 'iat'] : ['htm', 'htu', 'iat', 'jti'];
      for (const claims of names.map((name) => ({ [name]: value })))
        expect([claims, await validateProof(proof({ claims }), CALL)]).toEqual([claims, expect.any(String)]);
    }
  });

  it('no bit of the signature and no character can be changed, and none left out at the end', async () => {
    const whole = `${head}.${body}.${tail}`;
    const flipped = Array.from({ length: 512 }, (_, bit) => {
      const bytes = Buffer.from(tail, 'base64url');
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      return `${head}.${body}.${bytes.toString('base64url')}`;
    });
    const mutants = Array.from({ length: whole.length }, (_, i) => {
      const [before, other] = [whole.slice(0, i), whole[i] === 'A' ? 'B' : 'A'];
      return [before, before + other + whole.slice(i + 1)];
    });
    for (const mutant of [...flipped, ...mutants.flat()])
      expect([mutant, await validateProof(mutant, CALL)]).toEqual([mutant, expect.any(String)]);
  });

  it.each<[string, ProofParts]>([
    ['htm GET', { claims: { htm: 'GET' } }],
    ['htm post', { claims: { htm: 'post' } }],
    ['htu of another call', { claims: { htu: 'https://id.example/oauth2/refresh' } }],
  ])('%s: of another call', async (_name, parts) => {
    expect(await validateProof(proof(parts), CALL)).toBe('call');
  });

  it('htm DELETE: of a call by this method alone', async () => {
    const ofDelete = proof({ claims: { htm: 'DELETE' } });
    expect(await validateProof(ofDelete, { ...CALL, method: 'DELETE' })).toMatchObject({
      jkt: key.thumbprint,
    });
    expect(await validateProof(ofDelete, CALL)).toBe('call');
    expect(await validateProof(proof(), { ...CALL, method: 'DELETE' })).toBe('call');
  });

  it.each([NOW - 60.001, NOW + 60.001, NOW * 1000, -NOW])('iat %d: not of the present time', async (iat) =>
    expect(await validateProof(proof({ claims: { iat } }), CALL)).toBe('time'),
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
    expect(await validateProof(header, CALL)).toBe('forged');
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
