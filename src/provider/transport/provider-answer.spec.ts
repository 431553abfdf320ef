import { findCall, isAway, ProviderRefusal, readAnswer, readObject } from './provider-answer.js';

const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const url = 'https://id.example/token';
const answer = (status: number, body: unknown) => ({ url, status, body: bytes(body) });

function refusalOf(work: () => unknown): { error: unknown; message: string } {
  try {
    work();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ProviderRefusal);
    expect((thrown as Error).name).toBe('ProviderRefusal');
    return { error: (thrown as ProviderRefusal).error, message: (thrown as Error).message };
  }
  throw new Error('nothing was refused');
}

describe('a provider’s answer', () => {
  it('is its JSON object', () => {
    expect(readAnswer(answer(200, { id: 1, error: null }))).toEqual({ id: 1, error: null });
  });

  it.each([null, ''])('may have %j in place of an error', (error) => {
    expect(readAnswer(answer(200, { error }))).toEqual({ error });
    expect(() => readAnswer(answer(400, { error }))).toThrow('status 400 and no error code');
  });

  it.each<[number, unknown, string]>([
    [200, 'invalid_grant', 'the provider answered with status 200: invalid_grant'],
    [400, 'access_denied', 'the provider answered with status 400: access_denied'],
    [200, { code: 1 }, 'the provider answered with status 200: an unknown error'],
    [400, 'A<b>', 'the provider answered with status 400: an unknown error'],
    [400, 'a'.repeat(64), `the provider answered with status 400: ${'a'.repeat(64)}`],
    [400, 'a'.repeat(65), 'the provider answered with status 400: an unknown error'],
  ])('with status %s and error %j is a refusal', (status, error, message) => {
    expect(refusalOf(() => readAnswer(answer(status, { error })))).toEqual({ error, message });
  });

  it('says what was asked, with the words of the provider, and those words are not in the message', () => {
    const said = { error: 'bad_code', error_description: 's3cret' };
    for (const [work, call] of [
      [
        () => readAnswer(answer(400, said), new Map([['bad_code', 'x']])),
        { error: 'bad_code', description: 's3cret' },
      ],
      [() => readAnswer(answer(500, {})), {}],
      [() => readAnswer({ url, status: 502, body: Buffer.from('<html>') }), {}],
    ] as const) {
      let thrown: unknown;
      try {
        work();
      } catch (error) {
        thrown = error;
      }
      expect(findCall(new Error('outer', { cause: thrown }))).toEqual({
        url,
        status: expect.any(Number),
        ...call,
      });
      expect((thrown as Error).message).not.toContain('s3cret');
    }
    expect(findCall(new Error('of none'))).toBeUndefined();
  });

  it('has its own words for errors', () => {
    const words = new Map([['bad_code', 'invalid_grant']]);
    expect(refusalOf(() => readAnswer(answer(400, { error: 'bad_code' }), words)).error).toBe(
      'invalid_grant',
    );
    expect(refusalOf(() => readAnswer(answer(400, { error: 'other' }), words)).error).toBe('other');
  });

  it.each([201, 500])('with status %s and no error is none', (status) => {
    const message = `the provider answered with status ${status} and no error code`;
    expect(() => readAnswer(answer(status, {}))).toThrow(new Error(message));
  });

  it.each<[string, Buffer, string]>([
    ['no JSON', Buffer.from('s3cret'), 'something that is not JSON'],
    ['bytes that are not UTF-8', Buffer.from('7b2261223a22ff227d', 'hex'), 'something that is not JSON'],
    ['a list', bytes([]), 'JSON that is not an object'],
  ])('of %s is refused without quoting it', (_name, body, what) => {
    expect(() => readObject({ url, status: 200, body })).toThrow(
      new Error(`the provider answered with ${what}`),
    );
  });
});

describe('whether a provider is away', () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const round: { cause?: unknown } = {};
  round.cause = round;

  it.each<[string, unknown, boolean]>([
    ['a refused connection', refused, true],
    ['one below others', new TypeError('a', { cause: new Error('b', { cause: refused }) }), true],
    ['its time limit', { code: 'ETIMEDOUT' }, true],
    ['that of a connection', { code: 'UND_ERR_CONNECT_TIMEOUT' }, true],
    ['a certificate', { code: 'CERT_HAS_EXPIRED' }, false],
    ['a code that only begins like one', { code: 'ECONNREFUSED_BY_POLICY' }, false],
    ['a code that is no text', { code: ['ETIMEDOUT'] }, false],
    ['a cause that is null', { code: 'E', cause: null }, false],
    ['a circle', round, false],
  ])('%s', (_name, error, expected) => expect(isAway(error)).toBe(expected));
});
