import { randomUUID } from 'node:crypto';
import { hashRefreshToken, makeRefreshToken, parseRefreshToken } from './refresh-token.js';

describe('the refresh token', () => {
  it.each([[randomUUID()], [null]])('carries its session, with device %s', (deviceId) => {
    const session = { userId: randomUUID(), sessionId: randomUUID(), deviceId };
    const token = makeRefreshToken(session);
    expect(token).toMatch(/^lkr_[A-Za-z0-9_-]+$/);
    expect(parseRefreshToken(token)).toEqual(session);
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

  it('is hashed as a whole with SHA-256', () => {
    expect(hashRefreshToken('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });
});
