import { jest } from '@jest/globals';
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify, type JWK } from 'jose';
import { makeClock } from './clock.js';
import type { Keys } from '../tokens/keys.js';
import { makePost, type Post } from './post.js';
import { makeCall } from './service.js';

const BINDING = { issuer: 'https://id.example', key: 'mine' };
const REFUSED = { status: 400, body: { error: 'invalid_dpop_proof' } };
const FINE = { status: 200, body: { access_token: 'second' } };

/** The proofs that the service got, undefined for none, and when it answers that it is; seconds ahead of this machine. */
let proofs: (string | null)[];
let ahead: number;
/** Seconds that the device has slept, and that it will while the next answer is on its way. */
let [slept, nap] = [0, 0];
let answers: { status: number; body: object }[];
let pair: CryptoKeyPair;
let post: Post;

beforeAll(async () => {
  pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
});
beforeEach(() => {
  [proofs, ahead, answers, slept, nap] = [[], 0, [], 0, 0];
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + slept * 1000);
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (request) => {
    proofs.push((request as Request).headers.get('DPoP'));
    const { status, body } = answers.shift() ?? FINE;
    const date = new Date(Date.now() + ahead * 1000).toUTCString();
    [slept, nap] = [slept + nap, 0];
    return Response.json(body, { status, headers: { Date: date } });
  });
  const clock = makeClock();
  const call = makeCall('http://inside', clock.set, () => undefined);
  post = makePost(call, { get: async () => pair } as Partial<Keys> as Keys, clock);
});
afterEach(() => jest.restoreAllMocks());

const refresh = (binding?: typeof BINDING): Promise<unknown> =>
  post('/oauth2/refresh', { refresh_token: 'lkr_1' }, () => binding);

it('proves possession as RFC 9449 §4.2 says, by the name that the service has for itself', async () => {
  await refresh(BINDING);
  const { payload, protectedHeader } = await jwtVerify(proofs[0]!, EmbeddedJWK, { typ: 'dpop+jwt' });
  expect(protectedHeader).toEqual({
    typ: 'dpop+jwt',
    alg: 'ES256',
    jwk: { kty: 'EC', crv: 'P-256', x: expect.any(String), y: expect.any(String) },
  });
  expect(payload).toEqual({
    htm: 'POST',
    htu: 'https://id.example/oauth2/refresh',
    iat: expect.any(Number),
    jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(Math.abs(payload.iat! - Date.now() / 1000)).toBeLessThan(2);
  const own = (await crypto.subtle.exportKey('jwk', pair.publicKey)) as JWK;
  expect(await calculateJwkThumbprint(protectedHeader.jwk!)).toBe(await calculateJwkThumbprint(own));
});

it.each([7200, -7200])(
  'follows a clock that is %i s ahead: after a refusal, then at once',
  async (seconds) => {
    ahead = seconds;
    answers = [REFUSED];
    await refresh(BINDING);
    await refresh(BINDING);
    const claims = await Promise.all(proofs.map(async (one) => (await jwtVerify(one!, EmbeddedJWK)).payload));
    const off = claims.map(({ iat }) => Math.round(iat! - Date.now() / 1000));
    expect(off[0]).toBeCloseTo(0, -1);
    expect(off[1]).toBeCloseTo(seconds, -1);
    expect(off[2]).toBeCloseTo(seconds, -1);
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(3); // a proof is taken once
  },
);

it('takes no old time from an answer that was on its way while the device slept', async () => {
  ahead = 7200;
  answers = [REFUSED];
  await refresh(BINDING);
  nap = 10_800;
  await refresh(BINDING);
  await refresh(BINDING);
  const { payload } = await jwtVerify(proofs.at(-1)!, EmbeddedJWK);
  expect(payload.iat! - Date.now() / 1000).toBeCloseTo(7200, -1);
});

it.each([
  ['a proof refused twice', [REFUSED, REFUSED], 'invalid_dpop_proof', 2],
  ['another refusal', [{ status: 401, body: { error: 'invalid_grant' } }], 'invalid_grant', 1],
  ['a service in trouble', [{ status: 503, body: {} }], 'unexpected_answer', 1],
])('%s is an error, after one more proof at most', async (_name, answer, code, times) => {
  answers = answer;
  await expect(refresh(BINDING)).rejects.toMatchObject({ code });
  expect(proofs).toHaveLength(times);
});
