import { randomUUID } from 'node:crypto';
import { CLIENT_ID, readClaims } from './access-token.js';

const GOOD = {
  sub: randomUUID(),
  sid: randomUUID(),
  jti: randomUUID(),
  device_id: randomUUID(),
  iat: 1,
  exp: 2,
};

describe('the claims of an access token', () => {
  it('say of whichever client that it is ours (RFC 9068)', () => expect(CLIENT_ID).toBe('latchkey'));

  it.each<[string, object]>([
    ['with a device', GOOD],
    ['without one', { ...GOOD, device_id: undefined }],
  ])('%s are those of the payload', (_name, payload) => expect(readClaims(payload)).toBe(payload));

  it.each<[string, object]>([
    ['sub', { sub: 'u' }],
    ['no sub', { sub: undefined }],
    ['sid', { sid: `${GOOD.sid}x` }],
    ['jti', { jti: 7 }],
    ['device_id', { device_id: null }],
    ['a list for device_id', { device_id: [GOOD.device_id] }],
    ['iat', { iat: 1.5 }],
    ['no iat', { iat: undefined }],
    ['exp', { exp: '2' }],
    ['no exp', { exp: undefined }],
  ])('are not those of a token of ours: %s', (_name, changes) => {
    expect(readClaims({ ...GOOD, ...changes })).toBeUndefined();
  });
});
