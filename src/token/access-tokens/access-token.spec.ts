import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { Settings } from '../../platform/config/settings/settings.js';
import type { Clock } from '../../platform/database/clock.js';
import { AccessTokens, readClaims } from './access-token.js';
import type { KeyRing } from '../keys/key-ring.js';

const NOW = 1_800_000_000;
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const session = { userId: 'u', sessionId: 's', deviceId: null };
const proof = { jkt: Buffer.alloc(32, 1), jti: 'p' };

describe('an access token', () => {
  const issuer = (accessTokenTtl: number): AccessTokens =>
    new AccessTokens(
      { signer: { header: 'h', privateKey } } as unknown as KeyRing,
      { now: () => NOW * 1000 + 999 } as Clock,
      { publicUrl: 'https://id.example', accessTokenTtl } as Settings,
    );

  // RFC 9449 §11.1: a proof is good for a minute to either side of the present, and only once.
  it.each<[ttl: number, withProof: boolean, recorded: number]>([
    [60, false, 60],
    [60, true, 180],
    [180, true, 180],
    [3600, true, 3600],
    [3600, false, 3600],
  ])('that lives %i s, for a proof: %s, is recorded for %i s', (ttl, withProof, recorded) => {
    const { token, expiresAt, expiresIn } = issuer(ttl).issue(session, {
      proof: withProof ? proof : undefined,
      claims: {},
    });
    const { iat, exp, client_id } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as {
      iat: number;
      exp: number;
      client_id: string;
    };
    expect(client_id).toBe('latchkey'); // clients are not registered
    expect([iat, exp, expiresAt, expiresIn]).toEqual([NOW, NOW + ttl, NOW + recorded, ttl]);
  });

  it('has the same id for the same proof, else one of its own', () => {
    const jti = (shown?: typeof proof): string => issuer(60).issue(session, { proof: shown, claims: {} }).jti;
    expect(jti(proof)).toBe(jti({ ...proof }));
    expect(new Set([proof, { ...proof, jti: 'q' }, { ...proof, jkt: Buffer.alloc(32) }].map(jti)).size).toBe(
      3,
    );
    expect(jti()).not.toBe(jti());
  });
});

const GOOD = {
  sub: randomUUID(),
  sid: randomUUID(),
  jti: randomUUID(),
  device_id: randomUUID(),
  iat: 1,
  exp: 2,
};

describe('the claims of an access token', () => {
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
