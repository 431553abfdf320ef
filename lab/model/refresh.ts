import fc from 'fast-check';
import { ClientKey } from '../../test/support/dpop.js';
import { expectClaims } from './sign-in.js';
import { PROOF_WINDOW, type Session, type Specification } from './specification.js';
import { at, expectRefusal, pick, step, which, type Refusal } from './step.js';
import { ISSUER, type At, type World } from './world.js';

/**
 * The edges of the minute by which a proof may be off, and what is wrong with it otherwise
 * (docs/browser-sessions.md#proofs-without-the-sdk).
 */
type Proof =
  | 'good'
  | 'a minute old'
  | 'a minute ahead'
  | 'none'
  | 'used'
  | 'of another key'
  | 'too old'
  | 'too early'
  | 'of another address'
  | 'malformed';

interface Call {
  readonly at: At;
  readonly path: '/oauth2/refresh' | '/oauth2/token';
  readonly altered: boolean;
  readonly proof: Proof;
}

interface Args extends Call {
  readonly session: number;
}

const STRANGER = new ClientKey();
const JUDGED_FIRST: readonly Proof[] = ['too old', 'too early', 'of another address', 'malformed', 'used'];
const GOOD: readonly Proof[] = ['good', 'a minute old', 'a minute ahead'];

const proof = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom<Proof[]>(...GOOD) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Proof[]>('none', 'of another key', 'used', 'used', ...JUDGED_FIRST),
  },
);

export const refresh = step<Args>(
  'refresh',
  {
    at,
    session: which,
    proof,
    path: fc.constantFrom<Args['path'][]>('/oauth2/refresh', '/oauth2/token'),
    altered: fc.oneof(
      { weight: 9, arbitrary: fc.constant(false) },
      { weight: 1, arbitrary: fc.constant(true) },
    ),
  },
  { needs: ({ sessions }) => sessions.length > 0, run },
);

function run(args: Args, model: Specification, world: World): Promise<void> {
  return exchange(args, pick(model.sessions, args.session), model, world);
}

/** As a client does that makes no mistake. */
export function refreshAt(to: At, session: Session, model: Specification, world: World): Promise<void> {
  return exchange({ at: to, path: '/oauth2/refresh', altered: false, proof: 'good' }, session, model, world);
}

async function exchange(args: Call, session: Session, model: Specification, world: World): Promise<void> {
  const { refreshToken } = session;
  const header = proofOf(args, session, model);
  const answer = await world.call(args.at, 'POST', args.path, {
    ...(header !== undefined && { headers: { DPoP: header } }),
    body: {
      ...(args.path === '/oauth2/token' && { grant_type: 'refresh_token' }),
      refresh_token: args.altered ? `${refreshToken.slice(0, -6)}AAAAAA` : refreshToken,
    },
  });
  const faults = faultsOf(args, session, model);
  if (faults.length > 0) return expectRefusal(answer, ...faults);

  expect(answer.status).toBe(200);
  // "No new refresh token is returned" (spec §4.4).
  const token = expect.any(String) as unknown;
  expect(answer.body).toEqual({ access_token: token, token_type: 'Bearer', expires_in: 3600 });
  if (session.key) session.usedProof = header!;
  const accessToken = answer.body['access_token'] as string;
  expect(model.tokens.map((one) => one.token)).not.toContain(accessToken);
  model.issued(session, accessToken, model.signing.kid);
  expectClaims(accessToken, model);
}

/** None: it is to succeed. "A session begun without a proof stays what the specification says, and a proof on it is ignored." */
function faultsOf({ altered, proof: kind }: Call, session: Session, model: Specification): Refusal[] {
  const ended = altered || !model.lives(session);
  const isProven = !session.key || GOOD.includes(kind);
  if (!ended) return isProven ? [] : ['invalid_dpop_proof'];
  return session.key && JUDGED_FIRST.includes(kind)
    ? ['invalid_grant', 'invalid_dpop_proof']
    : ['invalid_grant'];
}

function proofOf(
  { path, proof: kind }: Call,
  { key, usedProof }: Session,
  { now }: Specification,
): string | undefined {
  if (kind === 'none') return undefined;
  if (kind === 'used') return usedProof;
  if (kind === 'malformed') return 'no proof';
  const signer = kind === 'of another key' ? STRANGER : (key ?? STRANGER);
  const other = path === '/oauth2/token' ? '/oauth2/refresh' : '/oauth2/token';
  return signer.proof(ISSUER + (kind === 'of another address' ? other : path), {
    claims: { iat: timeOf(kind, now) },
  });
}

/** Whole seconds (RFC 7519 §2): the last and the first that are within the window, and their neighbours that are not. */
function timeOf(kind: Proof, now: number): number {
  const oldest = Math.ceil((now - PROOF_WINDOW) / 1000);
  const newest = Math.floor((now + PROOF_WINDOW) / 1000);
  if (kind === 'a minute old' || kind === 'too old') return kind === 'too old' ? oldest - 1 : oldest;
  if (kind === 'a minute ahead' || kind === 'too early') return kind === 'too early' ? newest + 1 : newest;
  return Math.floor(now / 1000);
}
