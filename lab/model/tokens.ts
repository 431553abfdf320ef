import fc from 'fast-check';
import { isoOf, type AccessToken, type Specification } from './specification.js';
import { at, expectRefusal, pick, step, which } from './step.js';
import { ISSUER, SERVICE_KEY, type Answer, type At, type World } from './world.js';

/**
 * A call with an access token, which is refused if it is not good.
 * @returns undefined: it was refused, as it had to be
 */
export async function callAs(
  to: At,
  { token, session }: AccessToken,
  [method, path, body]: readonly [method: string, path: string, body?: object],
  model: Specification,
  world: World,
): Promise<Answer | undefined> {
  const isGood = model.isGood(model.tokens.find((one) => one.token === token)!);
  const answer = await world.call(to, method, path, { bearer: token, ...(body && { body }) });
  if (isGood) {
    expect(answer.status).not.toBe(401);
    model.used(session);
    return answer;
  }
  expectRefusal(answer, 'invalid_token');
  expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"'); // RFC 6750 §3.1
  return undefined;
}

export const useToken = step<{ at: At; token: number }>(
  'useToken',
  { at, token: which },
  {
    needs: ({ tokens }) => tokens.length > 0,
    run: (args, model, world) => askMe(args.at, pick(model.tokens, args.token), model, world),
  },
);

export async function askMe(to: At, token: AccessToken, model: Specification, world: World): Promise<void> {
  const answer = await callAs(to, token, ['GET', '/me'], model, world);
  if (!answer) return;
  const { id, name, createdAt } = token.session.user;
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    user_id: id,
    username: name,
    email: `${name}@example.org`,
    avatar_url: null,
    claims: {},
    created_at: isoOf(createdAt),
  });
}

interface Either {
  readonly at: At;
  readonly kind: 'access' | 'refresh';
  readonly token: number;
}
const either = { at, kind: fc.constantFrom<Either['kind'][]>('access', 'refresh'), token: which };
const thereAreTokens = ({ tokens }: Specification): boolean => tokens.length > 0;

/** RFC 7662; a refresh token needs its `token_type_hint` (docs/endpoints.md#for-your-backend). */
export const introspect = step<Either & { hint: boolean }>(
  'introspect',
  { ...either, hint: fc.boolean() },
  {
    needs: thereAreTokens,
    async run(args, model, world) {
      const body = {
        token: textOf(args, model),
        ...(args.hint && { token_type_hint: 'refresh_token' }),
      };
      const answer = await world.call(args.at, 'POST', '/oauth2/introspect', { bearer: SERVICE_KEY, body });
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual(saysOf(args, model));
    },
  },
);

/** RFC 7009: ends the session of the token; 200 with `{}` also for an unknown token. */
export const revoke = step<Either>('revoke', either, {
  needs: thereAreTokens,
  async run(args, model, world) {
    const answer = await world.call(args.at, 'POST', '/oauth2/revoke', {
      body: { token: textOf(args, model) },
    });
    expect(answer).toMatchObject({ status: 200, body: {} });
    if (args.kind === 'refresh') {
      const session = pick(model.sessions, args.token);
      if (model.lives(session)) model.end([session]);
    } else {
      const token = pick(model.tokens, args.token);
      if (model.isGood(token)) model.end([token.session]);
    }
  },
});

function textOf({ kind, token }: Either, { tokens, sessions }: Specification): string {
  return kind === 'access' ? pick(tokens, token).token : pick(sessions, token).refreshToken;
}

function saysOf({ kind, token: place, hint }: Either & { hint: boolean }, model: Specification): object {
  if (kind === 'access') {
    const token = pick(model.tokens, place);
    if (!model.isGood(token)) return { active: false };
    const jti = expect.any(String) as unknown;
    return { ...commonOf(token), jti, token_type: 'Bearer' };
  }
  const session = pick(model.sessions, place);
  if (!hint || !model.lives(session)) return { active: false };
  const times = {
    issued: Math.floor(session.begun / 1000) * 1000,
    expires: Math.floor(session.expires / 1000) * 1000,
  };
  return { ...commonOf({ session, ...times }), token_type: 'refresh_token' };
}

function commonOf({ session, issued, expires }: Pick<AccessToken, 'session' | 'issued' | 'expires'>): object {
  return {
    active: true,
    sub: session.user.id,
    sid: session.id,
    iss: ISSUER,
    aud: ISSUER,
    iat: issued / 1000,
    exp: expires / 1000,
    ...(session.deviceId !== null && { device_id: session.deviceId }),
  };
}
