import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type SessionIds } from '../../platform/events.js';
import type { AuditRefusals, Refusal } from '../../audit/audit-refusals.js';
import type { EndEvents } from '../../audit/end-events.js';
import { systemOrigin } from '../../audit/audit-event.js';
import type { DpopProof, DpopProofs } from '../dpop/dpop-proofs.js';
import { makeRefreshToken } from './refresh-token.js';
import type { TokenInspector } from '../access-tokens/token-inspector.js';
import { NO_CLAIMS, type UserClaims } from '../../identity/claims.js';
import type { ClaimsStore } from '../../user/claims.store.js';
import type { Clock } from '../../platform/database/clock.js';
import { RefreshService } from './refresh.service.js';
import type { Refresh, Refused, RefreshStore } from './refresh.store.js';

const session: SessionIds = {
  userId: '00000000-0000-4000-8000-00000000000a',
  sessionId: '00000000-0000-4000-8000-00000000000b',
  deviceId: null,
};
const ORIGIN = systemOrigin();
const proof: DpopProof = { jkt: Buffer.alloc(32), jti: 'p' };
const call = { header: undefined, path: '/oauth2/refresh' } as const;
const issued = { token: 'access', jti: 'j', exp: 1, expiresAt: 1, expiresIn: 3600 };
const forged = new OAuthError('invalid_dpop_proof', 'forged');
const away = new Error('away');

describe('a refresh (spec §4.4)', () => {
  let sent: Refresh[];
  let used: SessionIds[];
  let refused: Refusal[];
  /** Versions of the user's claims in the database; the first is the one that the instance knows. */
  let versions: number[];
  beforeEach(() => {
    [sent, used, refused, versions] = [[], [], [], [1]];
  });

  interface Case {
    readonly bound?: boolean;
    /** What the call proves. */
    readonly proven?: DpopProof | OAuthError;
    readonly stored: readonly (typeof issued | Refused | Error)[];
  }
  function refresh({ bound = false, proven, stored }: Case, token?: string): Promise<object> {
    const answer = <T>(value: T): Promise<Exclude<T, Error>> =>
      value instanceof Error ? Promise.reject(value) : Promise.resolve(value as Exclude<T, Error>);
    const results = [...stored];
    const store: Pick<RefreshStore, 'issue'> = {
      issue: (one) => {
        sent.push(one);
        return answer(results.length > 1 ? results.shift()! : results[0]!);
      },
    };
    const claimsNow = (): UserClaims => ({ ...NO_CLAIMS, version: versions[0]! });
    const claims: Pick<ClaimsStore, 'known' | 'find'> = {
      known: claimsNow,
      find: () => {
        versions.shift();
        return Promise.resolve(claimsNow());
      },
    };
    const proofs: Pick<DpopProofs, 'validate'> = { validate: () => answer(proven) };
    const inspector = {} as TokenInspector;
    const events = new Events();
    events.on('session.used', (one) => void used.push(one));
    const audit: Pick<AuditRefusals, 'refused'> = { refused: (one) => void refused.push(one) };
    const service = new RefreshService(
      store as RefreshStore,
      claims as ClaimsStore,
      proofs as DpopProofs,
      inspector,
      audit as AuditRefusals,
      events,
      {} as EndEvents,
      { now: Date.now } as Clock,
      { sessionIdleTtl: undefined },
    );
    const refresh_token = token ?? makeRefreshToken(session, bound);
    return service.refresh({ refresh_token }, call, () => ORIGIN);
  }

  it.each<[string, Case, DpopProof | undefined]>([
    ['of a session', { stored: [issued] }, undefined],
    [
      'of a session that is bound to no key, whatever its proof',
      { proven: forged, stored: [issued] },
      undefined,
    ],
    ['of a bound session, with a proof', { bound: true, proven: proof, stored: [issued] }, proof],
  ])('%s gets an access token, and the session was used', async (_name, one, shown) => {
    expect(await refresh(one)).toEqual({ access_token: 'access', token_type: 'Bearer', expires_in: 3600 });
    expect(sent).toEqual([
      {
        refreshToken: expect.stringMatching(/^lkr_/),
        session,
        proof: shown,
        claims: { ...NO_CLAIMS, version: 1 },
        idleFor: 0,
      },
    ]);
    expect([used, refused]).toEqual([[session], []]);
  });

  // Only a client with a valid token of a bound session learns that its proof is invalid.
  it.each<[string, Case, error: string, calls: number]>([
    ['of a token that is not stored', { stored: [{ refusal: 'session' }] }, 'invalid_grant', 1],
    [
      'of a bound session without a proof, with another key, or with a used proof',
      { bound: true, stored: [{ refusal: 'proof' }] },
      'invalid_dpop_proof',
      1,
    ],
    [
      'of a bound session that is over',
      { bound: true, proven: proof, stored: [{ refusal: 'session' }] },
      'invalid_grant',
      1,
    ],
    [
      'of a bound session with a forged proof',
      { bound: true, proven: forged, stored: [] },
      'invalid_dpop_proof',
      0,
    ],
  ])('%s is refused, and recorded', async (_name, one, error, calls) => {
    const found = await refresh(one).catch((thrown: unknown) => thrown);
    expect(found).toMatchObject({ name: 'OAuthError', error, description: expect.stringMatching(/./) });
    expect(sent).toHaveLength(calls);
    const recorded = { event: 'refresh_refused', error, reason: expect.stringMatching(/./), origin: ORIGIN };
    const prove = expect.any(Function);
    expect([used, refused]).toEqual([[], [{ ...recorded, claimed: session, prove }]]);
  });

  it('signs again with the claims of now, if they have changed', async () => {
    versions = [1, 2, 3];
    await refresh({ stored: [{ refusal: 'claims' }, { refusal: 'claims' }, issued] });
    expect(sent.map(({ claims }) => claims.version)).toEqual([1, 2, 3]);
    expect([used, refused]).toEqual([[session], []]);
  });

  it('gives up, if they change each time', async () => {
    versions = [1, 2, 3, 4, 5, 6, 7];
    const busy = refresh({ stored: [{ refusal: 'claims' }] });
    await expect(busy).rejects.toMatchObject({ name: 'DatabaseBusy' });
    expect([sent.length, used, refused]).toEqual([5, [], []]);
  });

  it('of a text that is no token is refused without a statement', async () => {
    await expect(refresh({ stored: [issued] }, 'x')).rejects.toMatchObject({ error: 'invalid_grant' });
    expect([sent, refused]).toEqual([
      [],
      [expect.objectContaining({ error: 'invalid_grant', claimed: undefined })],
    ]);
  });

  it('that the database could not answer was not refused', async () => {
    await expect(refresh({ stored: [away] })).rejects.toBe(away);
    expect([used, refused]).toEqual([[], []]);
  });
});
