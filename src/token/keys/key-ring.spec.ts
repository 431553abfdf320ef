import { generateKeyPairSync } from 'node:crypto';
import type { KeyLife } from './key-life.js';
import { KeyRing, encodePart, readHeader } from './key-ring.js';
import type { PublicJwk } from './signing-key.entity.js';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Times in milliseconds. */
function life(kid: string, activeAt: number, endsAt: number | null = null, revoked = false): KeyLife {
  return {
    kid,
    publicJwk: publicKey.export({ format: 'jwk' }) as unknown as PublicJwk,
    state: 'signing',
    createdAt: new Date(activeAt),
    activeAt: new Date(activeAt),
    revokedAt: revoked ? new Date(endsAt!) : null,
    endsAt: endsAt === null ? null : new Date(endsAt),
    tokenTtl: 3600,
    age: 0,
  };
}

const issued = (kid: string): string => `${encodePart({ alg: 'ES256', typ: 'at+jwt', kid })}.e30.x`;
const readable = () => privateKey;

describe('the keys of an instance', () => {
  it('change at the exact millisecond, without the database', () => {
    const ring = new KeyRing();
    ring.update([life('b', 1000), life('a', 0, 5000)], readable, 10);
    expect(ring.signer?.kid).toBe('a');
    expect(ring.chooseSigner(999)).toBe(1000);
    expect(ring.signer?.kid).toBe('a');
    expect(ring.chooseSigner(1000)).toBe(Infinity);
    expect(ring.signer?.kid).toBe('b');
    expect(ring.findPublicKey(issued('a'), 4999)).toBeDefined();
    expect(ring.findPublicKey(issued('a'), 5000)).toBeUndefined();
    ring.chooseSigner(5000);
    expect(ring.jwks.keys.map(({ kid }) => kid)).toEqual(['b']);
  });

  it('never sign with a key whose private part cannot be decrypted', () => {
    const ring = new KeyRing();
    ring.update([life('b', 5), life('a', 0)], ({ kid }) => (kid === 'a' ? privateKey : undefined), 10);
    expect(ring.signer?.kid).toBe('a');
    expect(ring.findPublicKey(issued('b'), 10)).toBeDefined();
  });

  it('follow new keys and revocations beside a row that is no valid key', () => {
    const ring = new KeyRing();
    ring.update([life('a', 0)], readable, 10);
    const bad: KeyLife = { ...life('bad', 5), publicJwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' } };
    const endless = Object.assign(life('endless', 5), { activeAt: Infinity }); // `infinity` in PostgreSQL
    const changes = ring.update([bad, endless, life('b', 8), life('a', 0, 15, true)], readable, 10);
    const kidsOf = (lives: readonly KeyLife[]): string[] => lives.map(({ kid }) => kid);
    expect([changes.made, changes.revoked, changes.invalid].map(kidsOf)).toEqual([
      ['b'],
      ['a'],
      ['bad', 'endless'],
    ]);
  });

  it('sign with the first key if none is active yet', () => {
    const ring = new KeyRing();
    ring.update([life('c', 300), life('b', 200), life('a', 100)], readable, 99);
    expect(ring.signer?.kid).toBe('a');
  });

  it('are published and named in token headers for ES256 only', () => {
    const ring = new KeyRing();
    ring.update([life('a', 0)], readable, 10);
    const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
    expect(ring.jwks).toEqual({ keys: [{ kty, crv, x, y, kid: 'a', use: 'sig', alg: 'ES256' }] });
    const header: unknown = JSON.parse(Buffer.from(ring.signer!.header, 'base64url').toString());
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: 'a' });
  });

  it('are found by the whole header of a token', () => {
    const ring = new KeyRing();
    ring.update([life('ab', 5), life('a', 0)], readable, 10);
    const { header } = ring.signer!;
    expect(ring.findPublicKey(issued('ab'), 10)).toBeDefined();
    const another = [
      header,
      header.slice(0, -1),
      `${header}x.e30.x`,
      ` ${issued('ab')}`,
      issued('b'),
      issued('abc'),
      '',
    ];
    const other = encodePart({ typ: 'at+jwt', alg: 'ES256', kid: 'ab' });
    for (const text of [...another, `${other}.e30.x`]) expect(ring.findPublicKey(text, 10)).toBeUndefined();
  });

  it('are decrypted once; changed times apply', () => {
    const ring = new KeyRing();
    const decrypted: string[] = [];
    const decrypt = ({ kid }: KeyLife) => (decrypted.push(kid), privateKey);
    ring.update([life('a', 0)], decrypt, 10);
    const changes = ring.update([life('b', 20), life('a', 0, 15, true)], decrypt, 16);
    expect(decrypted).toEqual(['a', 'b']);
    expect(changes.made.map(({ kid }) => kid)).toEqual(['b']);
    expect(changes.revoked.map(({ kid }) => kid)).toEqual(['a']);
    expect(ring.findPublicKey(issued('a'), 16)).toBeUndefined();
    expect(ring.update([life('b', 20), life('a', 0, 15, true)], decrypt, 17).revoked).toEqual([]);
  });

  it('report a new key that is revoked already, while its tokens are valid', () => {
    const withdrawn = [life('b', 20), life('a', 0, 15, true)];
    expect(new KeyRing().update(withdrawn, readable, 14).revoked.map(({ kid }) => kid)).toEqual(['a']);
    expect(new KeyRing().update(withdrawn, readable, 15).revoked).toEqual([]);
  });
});

const tokenOf = (header: unknown): string =>
  `${Buffer.from(JSON.stringify(header)).toString('base64url')}.e30.c2ln`;
const OURS = { alg: 'ES256', typ: 'at+jwt', kid: 'k' };

describe('the header of an access token', () => {
  it('is exactly as ours are', () => expect(readHeader(tokenOf(OURS))).toEqual({ kid: 'k' }));

  it.each<[string, string]>([
    ['another algorithm', tokenOf({ ...OURS, alg: 'ES384' })],
    ['no algorithm', tokenOf({ ...OURS, alg: 'none' })],
    ['another kind of JWT', tokenOf({ ...OURS, typ: 'JWT' })],
    ['no kid', tokenOf({ alg: 'ES256', typ: 'at+jwt', x: 1 })],
    ['a kid that is no text', tokenOf({ ...OURS, kid: 7 })],
    ['a key of its own', tokenOf({ ...OURS, jwk: {} })],
    ['crit', tokenOf({ ...OURS, crit: [] })],
    ['no JSON', 'abc.e30.c2ln'],
    ['null', tokenOf(null)],
    ['nothing', ''],
  ])('with %s is none', (_name, text) => expect(readHeader(text)).toBeUndefined());
});
