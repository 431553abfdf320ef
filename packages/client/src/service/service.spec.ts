import { jest } from '@jest/globals';
import { makeCall } from './service.js';
import type { ServiceCall } from '../session.js';

const done: ServiceCall[] = [];
const dates: (string | null)[] = [];
const call = makeCall(
  'https://id.example',
  (date) => dates.push(date),
  (one) => done.push(one),
);
const answering =
  (status: number, body: string | null, headers: Record<string, string> = {}) =>
  async () =>
    new Response(body, { status, headers });

beforeEach(() => {
  jest.useFakeTimers();
  done.length = 0;
});
afterEach(() => jest.useRealTimers());

it('sends JSON, and returns the body; what it reports holds no secret', async () => {
  let sent: unknown;
  const body = await call(
    'POST',
    '/oauth2/refresh?a=secret',
    { refresh_token: 'secret' },
    async (request) => {
      sent = [request.method, request.url, request.headers.get('Content-Type'), await request.text()];
      return Response.json({ access_token: 'secret' });
    },
  );
  expect(sent).toEqual([
    'POST',
    'https://id.example/oauth2/refresh?a=secret',
    'application/json',
    '{"refresh_token":"secret"}',
  ]);
  expect(body).toEqual({ access_token: 'secret' });
  expect(done).toMatchObject([{ method: 'POST', path: '/oauth2/refresh', status: 200 }]);
  expect(JSON.stringify(done)).not.toContain('secret');
});

it.each([
  ['/sign-out', true], // the page may be left right after it
  ['/oauth2/refresh', false], // another tab gets the lock, and would refresh concurrently
])('sends a request that outlives the page or not: %s, %p', async (path, outlives) => {
  let keepsAlive: boolean | undefined;
  await call('POST', path, {}, async ({ keepalive }) => {
    keepsAlive = keepalive;
    return new Response(null, { status: 204 });
  });
  expect(keepsAlive).toBe(outlives);
});

it('reports the time of each answer, of refusals too', async () => {
  const date = 'Sat, 21 Nov 2026 10:00:00 GMT';
  await call('GET', '/me', undefined, answering(503, '{}', { Date: date })).catch(() => undefined);
  expect(dates.at(-1)).toBe(date);
});

const NOT_OURS = 'The answer is not from the service.';
it.each([
  ['our error', 401, '{"error":"invalid_grant","error_description":"no"}', 'invalid_grant', 'no'],
  ["a gateway's page", 502, '<html>', 'unexpected_answer', NOT_OURS],
  ["a hotel's page", 200, '<html>', 'unexpected_answer', NOT_OURS],
  ['null', 200, 'null', 'unexpected_answer', NOT_OURS],
  ['an error without a description', 503, '{"error":"slow"}', 'slow', 'The request failed with slow.'],
])('%s is an error', async (_name, status, body, code, message) => {
  await expect(call('GET', '/me', undefined, answering(status, body))).rejects.toMatchObject({
    code,
    message,
    status,
  });
});

it.each([
  ['7', 7],
  ['0', undefined],
  ['soon', undefined],
  [new Date(Date.now() + 3_600_000).toUTCString(), expect.closeTo(3600, -2)],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 86_400], // a longer timer would fire at once
  ['1e999', 86_400],
  ['Thu, 01 Jan 1970 00:00:00 GMT', undefined],
])('Retry-After %s', async (header, retryAfter) => {
  const send = answering(503, '{}', { 'Retry-After': header });
  await expect(call('GET', '/me', undefined, send)).rejects.toMatchObject({ retryAfter });
});

it('gives up after 10 s', async () => {
  const never = (request: Request): Promise<Response> =>
    new Promise((_resolve, reject) => {
      request.signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  const calling = call('GET', '/me', undefined, never);
  calling.catch(() => undefined);
  await jest.advanceTimersByTimeAsync(9900);
  expect(done).toEqual([]);
  await jest.advanceTimersByTimeAsync(200);
  await expect(calling).rejects.toMatchObject({
    code: 'network',
    message: 'There is no answer: try again later.',
    status: undefined,
    cause: new Error('aborted'),
  });
  expect(done).toHaveLength(1);
});
