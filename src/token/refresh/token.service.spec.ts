import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type SessionIds } from '../../events.js';
import type { AuditTrail, Refusal } from '../../audit/audit.trail.js';
import { systemOrigin } from '../../audit/audit-event.js';
import type { AccessTokenStore, Refresh } from '../access-tokens/access-token.store.js';
import type { DpopProof } from '../dpop/dpop-proof.js';
import type { DpopProofs } from '../dpop/dpop-proofs.js';
import { makeRefreshToken } from './refresh-token.js';
import type { InspectedToken, TokenInspector } from '../access-tokens/token-inspector.js';
import { TokenService } from './token.service.js';

const session: SessionIds = {
  userId: '00000000-0000-4000-8000-00000000000a',
  sessionId: '00000000-0000-4000-8000-00000000000b',
  deviceId: null,
};
const ORIGIN = systemOrigin();
const proof: DpopProof = { jkt: Buffer.alloc(32), jti: 'p' };
const call = { header: undefined, path: '/oauth2/refresh' } as const;
const issued = { token: 'access', jti: 'j', expiresAt: 1, expiresIn: 3600 };
const forged = new OAuthError('invalid_dpop_proof', 'forged');
const away = new Error('away');

describe('a refresh (spec §4.4)', () => {
  let asked: Refresh[];
  let used: SessionIds[];
  let refused: Refusal[];
  beforeEach(() => {
    [asked, used, refused] = [[], [], []];
  });

  interface Given {
    readonly bound?: boolean;
    /** What the call proves. */
    readonly proven?: DpopProof | OAuthError;
    readonly stored?: typeof issued | Error;
    /** Whether the refresh token is valid. */
    readonly isGood?: boolean;
  }
  function refresh(
    { bound = false, proven, stored, isGood = false }: Given,
    token?: string,
  ): Promise<object> {
    const answer = <T>(value: T): Promise<Exclude<T, Error>> =>
      value instanceof Error ? Promise.reject(value) : Promise.resolve(value as Exclude<T, Error>);
    const store: Pick<AccessTokenStore, 'issueForSession'> = {
      issueForSession: (one) => {
        asked.push(one);
        return answer(stored);
      },
    };
    const proofs: Pick<DpopProofs, 'validate'> = { validate: () => answer(proven) };
    const inspector: Pick<TokenInspector, 'inspect' | 'isOurs'> = {
      isOurs: () => Promise.resolve(true),
      inspect: () => Promise.resolve(isGood ? ({} as InspectedToken) : undefined),
    };
    const events = new Events();
    events.on('session.used', (one) => void used.push(one));
    const audit: Pick<AuditTrail, 'refused'> = { refused: (one) => void refused.push(one) };
    const service = new TokenService(
      store as AccessTokenStore,
      proofs as DpopProofs,
      inspector as TokenInspector,
      audit as AuditTrail,
      events,
    );
    return service.refresh(token ?? makeRefreshToken(session, bound), call, () => ORIGIN);
  }

  it.each<[string, Given, DpopProof | undefined]>([
    ['of a session', { stored: issued }, undefined],
    [
      'of a session that is bound to no key, whatever its proof',
      { proven: forged, stored: issued },
      undefined,
    ],
    ['of a bound session, with a proof', { bound: true, proven: proof, stored: issued }, proof],
  ])('%s gets an access token, and the session was used', async (_name, given, shown) => {
    expect(await refresh(given)).toEqual({ access_token: 'access', token_type: 'Bearer', expires_in: 3600 });
    expect(asked).toEqual([{ refreshToken: expect.stringMatching(/^lkr_/), session, proof: shown }]);
    expect([used, refused]).toEqual([[session], []]);
  });

  // Only a client with a valid token of a bound session learns that its proof is invalid.
  it.each<[string, Given, error: string, isAsked: boolean]>([
    ['of a token that is not stored', {}, 'invalid_grant', true],
    ['of a bound session without a proof', { bound: true, isGood: true }, 'invalid_dpop_proof', false],
    ['of a bound session that is over, without a proof', { bound: true }, 'invalid_grant', false],
    [
      'of a bound session with a proof of another key, or a used one',
      { bound: true, proven: proof, isGood: true },
      'invalid_dpop_proof',
      true,
    ],
    ['of a bound session that is over', { bound: true, proven: proof }, 'invalid_grant', true],
    [
      'of a bound session with a proof that is not good',
      { bound: true, proven: forged },
      'invalid_dpop_proof',
      false,
    ],
  ])('%s is refused, and that is told', async (_name, given, error, isAsked) => {
    const found = await refresh(given).catch((thrown: unknown) => thrown);
    expect(found).toMatchObject({ name: 'OAuthError', error, description: expect.stringMatching(/./) });
    expect(asked).toHaveLength(isAsked ? 1 : 0);
    const recorded = { event: 'refresh_refused', error, reason: expect.stringMatching(/./), origin: ORIGIN };
    const isProven = expect.any(Function);
    expect([used, refused]).toEqual([[], [{ ...recorded, claimed: session, isProven }]]);
  });

  it('of what was never a token is refused before the database is asked', async () => {
    await expect(refresh({ stored: issued }, 'x')).rejects.toMatchObject({ error: 'invalid_grant' });
    expect([asked, refused]).toEqual([
      [],
      [expect.objectContaining({ error: 'invalid_grant', claimed: undefined })],
    ]);
  });

  it('that the database could not answer was not refused', async () => {
    await expect(refresh({ stored: away })).rejects.toBe(away);
    expect([used, refused]).toEqual([[], []]);
  });
});
