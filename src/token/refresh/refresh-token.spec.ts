import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { hashRefreshToken, makeRefreshToken, parseRefreshToken } from './refresh-token.js';

describe('the refresh token', () => {
  it.each([
    [randomUUID(), false],
    [null, false],
    [randomUUID(), true],
    [null, true],
  ])('carries its session, with device %s, and whether it is bound: %s', (deviceId, bound) => {
    const session = { userId: randomUUID(), sessionId: randomUUID(), deviceId };
    const token = makeRefreshToken(session, bound);
    expect(token).toMatch(/^lkr_[A-Za-z0-9_-]+$/);
    expect(parseRefreshToken(token)).toEqual({ session, bound });
    for (const authentication of [
      { auth_time: 1_700_000_000 },
      ...Array.from({ length: 32 }, (_, i) => ({ acr: 'x'.repeat(i) })), // each length of the padding
      {
        auth_time: 1_700_000_000,
        acr: 'x'.repeat(255),
        amr: Array.from({ length: 10 }, () => 'x'.repeat(64)),
      },
    ]) {
      const known = makeRefreshToken(session, bound, authentication);
      expect(known).toMatch(/^lkr_[A-Za-z0-9_-]{86,}$/);
      expect(parseRefreshToken(known)).toEqual({ session, bound, authentication });
    }
  });

  it('has 256 random bits: the same session never gets the same twice', () => {
    const session = { userId: randomUUID(), sessionId: randomUUID(), deviceId: null };
    const secrets = Array.from({ length: 100 }, () =>
      Buffer.from(makeRefreshToken(session).slice(4), 'base64url').subarray(32),
    );
    expect(secrets.every(({ length }) => length === 32)).toBe(true);
    expect(new Set(secrets.map((secret) => secret.toString('hex'))).size).toBe(100);
  });

  it.each([[''], ['lkr_'], ['lkr_abc'], ['LKR_' + 'a'.repeat(86)], ['lkr_' + 'a'.repeat(200)], ['hello']])(
    '%j is none',
    (text) => {
      expect(parseRefreshToken(text)).toBeUndefined();
    },
  );

  it('with another mark than ours at its end is none', () => {
    const session = { userId: randomUUID(), sessionId: randomUUID(), deviceId: null };
    const bytes = Buffer.from(makeRefreshToken(session, true).slice(4), 'base64url');
    bytes[64] = 2;
    expect(parseRefreshToken(`lkr_${bytes.toString('base64url')}`)).toBeUndefined();
    const known = Buffer.from(makeRefreshToken(session, true, { acr: 'x' }).slice(4), 'base64url');
    known[known.length - 1] = 4;
    expect(parseRefreshToken(`lkr_${known.toString('base64url')}`)).toBeUndefined();
  });

  it('with a part that is not JSON, or too long, is none', () => {
    const session = { userId: randomUUID(), sessionId: randomUUID(), deviceId: null };
    const bytes = Buffer.from(makeRefreshToken(session, false, { acr: 'x' }).slice(4), 'base64url');
    bytes[64] = 0;
    expect(parseRefreshToken(`lkr_${bytes.toString('base64url')}`)).toBeUndefined();
    const long = makeRefreshToken(session, false, { acr: 'x'.repeat(2000) });
    expect(parseRefreshToken(long)).toBeUndefined();
  });

  it('of a bound session is hashed after the thumbprint', () => {
    const jkt = randomBytes(32);
    const hash = createHash('sha256')
      .update(Buffer.concat([jkt, Buffer.from('abc')]))
      .digest();
    expect(hashRefreshToken('abc', jkt)).toEqual(hash);
  });

  it('is hashed as a whole with SHA-256', () => {
    expect(hashRefreshToken('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });
});
