import { generateKeyPairSync } from 'node:crypto';
import type { Settings } from '../../config/settings/settings.js';
import type { Clock } from '../../database/clock.js';
import { AccessTokens } from './access-token.js';
import type { KeyService } from '../keys/key.service.js';

const NOW = 1_800_000_000;
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const session = { userId: 'u', sessionId: 's', deviceId: null };
const proof = { jkt: Buffer.alloc(32, 1), jti: 'p' };

describe('an access token', () => {
  const issuer = (accessTokenTtl: number): AccessTokens =>
    new AccessTokens(
      { signing: { header: 'h', privateKey } } as KeyService,
      { now: () => NOW * 1000 + 999 } as Clock,
      { publicUrl: 'https://id.example', accessTokenTtl } as Settings,
    );

  // RFC 9449 §11.1: a proof is good for a minute to either side of the present, and only once.
  it.each<[ttl: number, withProof: boolean, kept: number]>([
    [60, false, 60],
    [60, true, 180],
    [180, true, 180],
    [3600, true, 3600],
    [3600, false, 3600],
  ])('that lives %i s, for a proof: %s, is kept for %i s', (ttl, withProof, kept) => {
    const { token, expiresAt, expiresIn } = issuer(ttl).issue(session, withProof ? proof : undefined);
    const { iat, exp, client_id } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as {
      iat: number;
      exp: number;
      client_id: string;
    };
    expect(client_id).toBe('latchkey'); // contract §5
    expect([iat, exp, expiresAt, expiresIn]).toEqual([NOW, NOW + ttl, NOW + kept, ttl]);
  });

  it('has the same id for the same proof, else one of its own', () => {
    const jti = (shown?: typeof proof): string => issuer(60).issue(session, shown).jti;
    expect(jti(proof)).toBe(jti({ ...proof }));
    expect(new Set([proof, { ...proof, jti: 'q' }, { ...proof, jkt: Buffer.alloc(32) }].map(jti)).size).toBe(
      3,
    );
    expect(jti()).not.toBe(jti());
  });
});
