import { runInNewContext } from 'node:vm';
import { jest } from '@jest/globals';
import { createLog, describeError, NestLog } from './log.js';

const SECRET = 'Zq7XkV9pWm';

/** Whether four characters of the secret are in the log. */
function reveals(logged: unknown): boolean {
  const text = JSON.stringify(logged);
  return Array.from({ length: SECRET.length - 3 }, (_, i) => SECRET.slice(i, i + 4)).some((part) =>
    text.includes(part),
  );
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('an error in the log', () => {
  const quoting: Record<string, unknown> = {
    "JSON.parse's": thrownBy(() => JSON.parse(`{"a":${SECRET}}`)),
    "JSON.parse's of another realm": thrownBy(() => runInNewContext(`JSON.parse('{"a":${SECRET}}')`)),
    "the router's": Object.assign(new URIError(`Failed to decode param '%FF${SECRET}'`), { status: 400 }),
    "PostgreSQL's": Object.assign(new Error(`invalid input syntax for type uuid: "${SECRET}"`), {
      code: '22P02',
      detail: SECRET,
    }),
    "axios's": Object.assign(new Error('timeout'), { config: { data: SECRET } }),
    'what a provider answered, as a cause': new Error('a fault', {
      cause: { message: SECRET, stack: SECRET },
    }),
  };

  it.each(Object.entries(quoting))('%s: without the input, also as a cause', (_name, error) => {
    expect(reveals(describeError(error))).toBe(false);
    expect(reveals(describeError(new Error('outer', { cause: new Error('inner', { cause: error }) })))).toBe(
      false,
    );
  });

  it('has name, code, message and stack, also of its causes', () => {
    const error = new TypeError('outer', {
      cause: Object.assign(new Error('inner'), { code: 'ECONNRESET' }),
    });
    expect(describeError(error)).toEqual({
      name: 'TypeError',
      message: 'outer',
      stack: expect.stringContaining('log.spec'),
      cause: { name: 'Error', message: 'inner', code: 'ECONNRESET', stack: expect.any(String) },
    });
    expect(describeError(new DOMException('aborted', 'AbortError'))).toMatchObject({ message: 'aborted' });
  });

  it('may be its own cause', () => {
    const error: Error & { cause?: unknown } = new Error('a circle');
    error.cause = error;
    expect(JSON.stringify(describeError(error)).length).toBeLessThan(20_000);
  });

  it('is described alike if Nest logs it', () => {
    const lines: string[] = [];
    const log = new NestLog(createLog('trace', { write: (line) => void lines.push(line) }));
    log.error(Object.assign(new Error('a fault'), { body: SECRET }), 'SomeContext');
    expect(JSON.parse(lines[0]!)).toMatchObject({ context: 'SomeContext', err: { message: 'a fault' } });
    expect(reveals(lines)).toBe(false);
  });
});

it('an error that comes with every request is logged a hundred times per second, and then counted', () => {
  jest.useFakeTimers();
  try {
    const lines: string[] = [];
    const log = new NestLog(createLog('trace', { write: (line) => void lines.push(line) }));
    for (let i = 0; i < 1000; i++) log.error({ err: new Error('the database is away') }, 'OAuthErrorFilter');
    log.error('something else', 'Removal');
    log.log({ event: 'sign_in' }, 'Audit');
    expect(lines).toHaveLength(102);
    jest.advanceTimersByTime(1000);
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({
      level: 'error',
      context: 'OAuthErrorFilter',
      left_out: 900,
    });
  } finally {
    jest.useRealTimers();
  }
});
