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
    expect(token).toMatch(/^lkr_[A-Za-z0-9_-]{110}$/); // 82 bytes
    expect(parseRefreshToken(token)).toEqual({ session, bound });
    for (const authentication of [
      { auth_time: 1_700_000_000 },
      { acr: 'größer' },
      {},
      {
        auth_time: 1_700_000_000,
        acr: 'x'.repeat(255),
        amr: Array.from({ length: 10 }, () => 'x'.repeat(64)),
      },
    ]) {
      const known = makeRefreshToken(session, bound, authentication);
      expect(known).toMatch(/^lkr_[A-Za-z0-9_-]{112,}$/);
      expect(parseRefreshToken(known)).toEqual({ session, bound, authentication });
    }
  });

  it('has 256 random bits: the same session never gets the same twice', () => {
    const session = { userId: randomUUID(), sessionId: randomUUID(), deviceId: null };
    const secrets = Array.from({ length: 100 }, () =>
      Buffer.from(makeRefreshToken(session).slice(4), 'base64url').subarray(50),
    );
    expect(secrets.every(({ length }) => length === 32)).toBe(true);
    expect(new Set(secrets.map((secret) => secret.toString('hex'))).size).toBe(100);
  });

  const [session, device] = [{ userId: randomUUID(), sessionId: randomUUID() }, randomUUID()];
  const textOf = (bytes: Buffer): string => `lkr_${bytes.toString('base64url')}`;
  const bytesOf = (authentication?: object): Buffer =>
    Buffer.from(
      makeRefreshToken({ ...session, deviceId: device }, true, authentication).slice(4),
      'base64url',
    );
  const withByte = (at: number, byte: number): Buffer => Buffer.from(bytesOf()).fill(byte, at, at + 1);
  const withTail = (tail: string): string => textOf(Buffer.concat([bytesOf(), Buffer.from(tail)]));

  it.each<[string, string]>([
    ['nothing', ''],
    ['only the prefix', 'lkr_'],
    ['too short', 'lkr_abc'],
    ['one byte short', textOf(bytesOf().subarray(0, 81))],
    ['no prefix', textOf(bytesOf()).slice(4)],
    ['the prefix in capitals', textOf(bytesOf()).replace('lkr_', 'LKR_')],
    ['a space before it', ` ${textOf(bytesOf())}`],
    ['version 0', textOf(withByte(0, 0))],
    ['version 2', textOf(withByte(0, 2))],
    ['an unknown flag', textOf(withByte(1, 8))],
    ['all flags', textOf(withByte(1, 255))],
    ['only random bytes', textOf(randomBytes(81))],
    ['a tail that is no JSON', withTail('x')],
    ['a tail that ends early', withTail('{"acr":"gold"')],
    ['a tail that goes on', withTail('{"acr":"gold"}}')],
    ['a tail of null', withTail('null')],
    ['a tail of bytes', textOf(Buffer.concat([bytesOf(), Buffer.alloc(8, 0xff)]))],
    ['too long, though well-formed', textOf(bytesOf({ acr: 'x'.repeat(2000) }))],
    ['the length of a request', `lkr_${'A'.repeat(65_536)}`],
    ['deep JSON', withTail('['.repeat(1400))],
  ])('is not one with %s', (_name, text) => expect(parseRefreshToken(text)).toBeUndefined());

  it('ignores members of another name', () => {
    const parsed = parseRefreshToken(withTail('{"acr":"gold","sub":"x","__proto__":{"amr":["y"]}}'));
    expect(parsed?.authentication).toEqual({ acr: 'gold' });
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
