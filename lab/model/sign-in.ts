import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { ClientKey } from '../../test/support/dpop.js';
import { claimsOf } from '../../test/support/sign-in.js';
import { PROVIDERS } from './code-providers.js';
import type { Specification, State } from './specification.js';
import { at, expectRefusal, pick, step, which, type Refusal } from './step.js';
import { ISSUER, type At, type World } from './world.js';

const REDIRECT_URI = 'https://app.example/callback';
const VERIFIER = 'the-verifier-of-the-client-that-began-this-sign-in';
const KEYS = [new ClientKey(), new ClientKey()];
const DEVICE_IDS = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

/** How a sign-in is begun (spec §4.2). */
interface Beginning {
  readonly provider: (typeof PROVIDERS)[number];
  readonly named: boolean;
  readonly pkce: boolean;
}

/** How it is finished (spec §4.3). */
interface Ending {
  readonly name: string;
  readonly code: 'good' | 'used' | 'other' | 'missing';
  readonly redirectUri: 'left out' | 'right' | 'wrong';
  readonly verifier: 'right' | 'wrong' | 'left out';
  readonly proof: 'none' | 'good' | 'of another address';
  readonly key: 0 | 1;
  readonly device: 0 | 1 | undefined;
  readonly deviceName: string | undefined;
  readonly userAgent: string | undefined;
}

const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

const aProvider = mostly<Beginning['provider']>('stub', 'other');
export const name = fc.constantFrom('ada', 'ben');
export const deviceOf = fc.constantFrom<(0 | 1)[]>(0, 1);
export const deviceId = (place: 0 | 1): string => DEVICE_IDS[place]!;
export const someText = fc.constantFrom('Laptop', 'Telefon ☎', 'x'.repeat(128));

const beginning = { provider: aProvider, named: fc.boolean(), pkce: fc.boolean() };
const ending = {
  name,
  key: deviceOf,
  device: fc.constantFrom<(0 | 1 | undefined)[]>(0, 1, undefined),
  deviceName: fc.option(someText, { nil: undefined }),
  userAgent: fc.option(fc.constant('Agent/1'), { nil: undefined }),
};

const wellDone = {
  ...ending,
  code: fc.constant<Ending['code']>('good'),
  redirectUri: fc.constantFrom<Ending['redirectUri'][]>('left out', 'right'),
  verifier: fc.constant<Ending['verifier']>('right'),
  proof: fc.constantFrom<Ending['proof'][]>('none', 'none', 'good'),
};
const somehow = {
  ...ending,
  code: mostly<Ending['code']>('good', 'used', 'other', 'missing'),
  redirectUri: fc.constantFrom<Ending['redirectUri'][]>('left out', 'right', 'wrong'),
  verifier: mostly<Ending['verifier']>('right', 'wrong', 'left out'),
  proof: mostly<Ending['proof']>('none', 'good', 'of another address'),
};

export const signIn = step<Beginning & Ending & { at: At; at2: At }>(
  'signIn',
  { at, at2: at, ...beginning, ...wellDone },
  {
    async run(args, model, world) {
      await begin(args.at, args, model, world);
      await finish(args.at2, model.states.at(-1)!, args, model, world);
    },
  },
);

export const authorize = step<Beginning & { at: At }>(
  'authorize',
  { at, ...beginning },
  { run: (args, model, world) => begin(args.at, args, model, world) },
);

/** Of any state that there was, also one that is used or expired. */
export const exchange = step<Ending & { at: At; state: number }>(
  'exchange',
  { at, state: which, ...somehow },
  {
    needs: ({ states }) => states.length > 0,
    run: (args, model, world) => finish(args.at, pick(model.states, args.state), args, model, world),
  },
);

async function begin(to: At, args: Beginning, model: Specification, world: World): Promise<void> {
  const challenge = createHash('sha256').update(VERIFIER).digest('base64url');
  const query = new URLSearchParams({
    provider: args.provider,
    ...(args.named && { redirect_uri: REDIRECT_URI }),
    ...(args.pkce && { code_challenge: challenge, code_challenge_method: 'S256' }),
  });
  const { status, body } = await world.call(to, 'GET', `/oauth2/authorize?${query.toString()}`);
  expect(status).toBe(200);
  const state = body['state'] as string;
  expect(state).toMatch(/^[0-9a-f]{64}$/);
  expect(new URL(body['redirect_url'] as string).searchParams.get('state')).toBe(state);
  expect(model.states.map((one) => one.state)).not.toContain(state);
  const redirectUri = args.named ? REDIRECT_URI : undefined;
  model.begin({ state, provider: args.provider, redirectUri, verifier: args.pkce ? VERIFIER : undefined });
}

async function finish(to: At, state: State, args: Ending, model: Specification, world: World): Promise<void> {
  const { provider } = state;
  const who = world.nameOf(args.name);
  const code = codeFor(args, state, world);
  const proof = proofOf(args, model);
  const redirectUri = { 'left out': undefined, right: REDIRECT_URI, wrong: `${REDIRECT_URI}/` }[
    args.redirectUri
  ];
  const verifier = verifierOf(args, state);
  const answer = await world.call(to, 'POST', '/oauth2/token', {
    ...(proof !== undefined && { headers: { DPoP: proof } }),
    body: {
      state: state.state,
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      ...(args.device !== undefined && { device_id: deviceId(args.device) }),
      device_name: args.deviceName,
      user_agent: args.userAgent,
    },
  });
  const fault = faultOf(args, state, verifier, model);
  if (fault !== 'invalid_request' && fault !== 'invalid_dpop_proof') state.used = true;
  if (fault) return expectRefusal(answer, fault);

  expect(answer.status).toBe(200);
  const {
    access_token: token,
    refresh_token: refreshToken,
    user_id: id,
  } = answer.body as Record<string, string>;
  expect(answer.body).toEqual({
    access_token: expect.any(String) as unknown,
    refresh_token: expect.stringMatching(/^lkr_/) as unknown,
    token_type: 'Bearer',
    expires_in: 3600,
    user_id: model.userNamed(provider, who)?.id ?? id,
  });
  const claims = claimsOf(token!);
  expect(model.sessions.map((one) => one.id)).not.toContain(claims['sid']);
  const device = args.device !== undefined && {
    id: deviceId(args.device),
    name: args.deviceName ?? null,
    userAgent: args.userAgent ?? null,
  };
  const key = proof === undefined ? undefined : KEYS[args.key];
  const session = model.signedIn({ provider, name: who, id: id! }, device || undefined, {
    id: claims['sid'] as string,
    refreshToken: refreshToken!,
    key,
    ...(proof !== undefined && { usedProof: proof }),
  });
  model.issued(session, token!, model.signing.kid);
  expectClaims(token!, model);
}

/** What an access token says, which the model has as its newest. */
export function expectClaims(token: string, model: Specification): void {
  const { session, issued, expires, kid } = model.tokens.at(-1)!;
  const header = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as object;
  expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid });
  expect(claimsOf(token)).toEqual({
    iss: ISSUER,
    aud: ISSUER,
    sub: session.user.id,
    sid: session.id,
    client_id: 'latchkey',
    ...(session.deviceId !== null && { device_id: session.deviceId }),
    jti: expect.any(String) as unknown,
    iat: issued / 1000,
    exp: expires / 1000,
  });
}

/** What is wrong, in the order of the service: syntax, the proof, then the grant. */
function faultOf(
  args: Ending,
  state: State,
  verifier: string | undefined,
  model: Specification,
): Refusal | undefined {
  if (args.code === 'missing') return 'invalid_request';
  if (args.proof === 'of another address') return 'invalid_dpop_proof';
  const isGood =
    model.isFresh(state) &&
    (args.redirectUri === 'left out' || (args.redirectUri === 'right' && state.redirectUri !== undefined)) &&
    verifier === state.verifier &&
    args.code === 'good';
  return isGood ? undefined : 'invalid_grant';
}

function codeFor({ code, name: who }: Ending, { provider }: State, world: World): string | undefined {
  if (code === 'missing') return undefined;
  if (code === 'used') return world.providers.usedCode(provider);
  const from = code === 'good' ? provider : PROVIDERS.find((one) => one !== provider)!;
  return world.providers.code(from, world.nameOf(who));
}

function verifierOf({ verifier }: Ending, state: State): string | undefined {
  if (verifier === 'left out') return undefined;
  return verifier === 'right' ? state.verifier : `not-${VERIFIER}`;
}

function proofOf({ proof, key }: Ending, model: Specification): string | undefined {
  if (proof === 'none') return undefined;
  const path = proof === 'good' ? '/oauth2/token' : '/oauth2/refresh';
  return KEYS[key]!.proof(ISSUER + path, { claims: { iat: Math.floor(model.now / 1000) } });
}
