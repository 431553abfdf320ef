import { generateKeyPairSync } from 'node:crypto';
import type { KeyLife } from './key-life.js';
import { KeyRing } from './key-ring.js';
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

const readable = () => privateKey;

describe('the keys of an instance', () => {
  it('change to the millisecond, whether or not the database can be asked', () => {
    const ring = new KeyRing();
    ring.update([life('b', 1000), life('a', 0, 5000)], readable, 10);
    expect(ring.signer?.kid).toBe('a');
    expect(ring.turn(999)).toBe(1000);
    expect(ring.signer?.kid).toBe('a');
    expect(ring.turn(1000)).toBe(Infinity);
    expect(ring.signer?.kid).toBe('b');
    expect(ring.publicKey('a', 4999)).toBeDefined();
    expect(ring.publicKey('a', 5000)).toBeUndefined();
    ring.turn(5000);
    expect(ring.jwks.keys.map(({ kid }) => kid)).toEqual(['b']);
  });

  it('keep the same signer until turn() is called: header and signature of a token agree', () => {
    const ring = new KeyRing();
    ring.update([life('a', 0)], readable, 10);
    const { signer } = ring;
    ring.turn(20);
    expect(ring.signer).toBe(signer);
  });

  it('never sign with a key whose private part cannot be decrypted', () => {
    const ring = new KeyRing();
    ring.update([life('b', 5), life('a', 0)], ({ kid }) => (kid === 'a' ? privateKey : undefined), 10);
    expect(ring.signer?.kid).toBe('a');
    expect(ring.publicKey('b', 10)).toBeDefined();
  });

  it('sign with the first key that will be in use when none is in use yet', () => {
    const ring = new KeyRing();
    ring.update([life('c', 300), life('b', 200), life('a', 100)], readable, 99);
    expect(ring.signer?.kid).toBe('a');
  });

  it('are told by name, those that were withdrawn apart', () => {
    const ring = new KeyRing();
    expect([ring.kids, ring.revokedKids, ring.jwks]).toEqual([[], [], { keys: [] }]);
    ring.update([life('b', 20), life('a', 0, 15, true)], readable, 16);
    expect(ring.kids).toEqual(['b', 'a']);
    expect(ring.revokedKids).toEqual(['a']);
  });

  it('are published, and named by the tokens that they sign, for ES256 alone', () => {
    const ring = new KeyRing();
    ring.update([life('a', 0)], readable, 10);
    const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
    expect(ring.jwks).toEqual({ keys: [{ kty, crv, x, y, kid: 'a', use: 'sig', alg: 'ES256' }] });
    const header: unknown = JSON.parse(Buffer.from(ring.signer!.header, 'base64url').toString());
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: 'a' });
  });

  it('decrypt a private part once, and take over changed times', () => {
    const ring = new KeyRing();
    const asked: string[] = [];
    const ask = ({ kid }: KeyLife) => (asked.push(kid), privateKey);
    ring.update([life('a', 0)], ask, 10);
    const changes = ring.update([life('b', 20), life('a', 0, 15, true)], ask, 16);
    expect(asked).toEqual(['a', 'b']);
    expect(changes.made.map(({ kid }) => kid)).toEqual(['b']);
    expect(changes.revoked.map(({ kid }) => kid)).toEqual(['a']);
    expect(ring.publicKey('a', 16)).toBeUndefined();
    expect(ring.update([life('b', 20), life('a', 0, 15, true)], ask, 17).revoked).toEqual([]);
  });

  it('tell of a withdrawn key also where it is known for the first time, as long as its tokens are good', () => {
    const withdrawn = [life('b', 20), life('a', 0, 15, true)];
    expect(new KeyRing().update(withdrawn, readable, 14).revoked.map(({ kid }) => kid)).toEqual(['a']);
    expect(new KeyRing().update(withdrawn, readable, 15).revoked).toEqual([]);
  });

  it.each<[string, Partial<KeyLife>]>([
    ['no JWK', { publicJwk: { kty: 'EC' } as unknown as PublicJwk }],
    ['null for one', { publicJwk: null as unknown as PublicJwk }],
    ['invalid times', { activeAt: Infinity as unknown as Date }],
  ])('leave out a row with %s, and still take the others', (_name, fault) => {
    const ring = new KeyRing();
    ring.update([life('a', 0)], readable, 10);
    const bad = { ...life('bad', 5), ...fault };
    const changes = ring.update([bad, life('b', 20), life('a', 0, 15, true)], readable, 16);
    expect(changes.made.map(({ kid }) => kid)).toEqual(['b']);
    expect(changes.revoked.map(({ kid }) => kid)).toEqual(['a']);
    expect(changes.unreadable.map(({ kid }) => kid)).toEqual(['bad']);
    expect(ring.publicKey('bad', 16)).toBeUndefined();
    expect(ring.jwks.keys.map(({ kid }) => kid)).toEqual(['b']);
  });

  it.each(['__proto__', 'constructor', '', 'a\0', '../a'])('know no key called %j', (kid) => {
    const ring = new KeyRing();
    ring.update([life('a', 0)], readable, 10);
    expect(ring.publicKey(kid, 10)).toBeUndefined();
  });
});
