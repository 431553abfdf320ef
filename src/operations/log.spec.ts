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

describe('lines that come with every request', () => {
  const lines: string[] = [];
  const entries = (): Record<string, unknown>[] =>
    lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
  let log: NestLog;
  beforeEach(() => {
    jest.useFakeTimers();
    log = new NestLog(createLog('trace', { write: (line) => void lines.push(line) }));
  });
  afterEach(() => void jest.useRealTimers());

  it('a hundred of a context are written in a second, and the others are counted', () => {
    for (let i = 0; i < 1000; i++) log.warn(`line ${i}`, 'Hub');
    log.warn('something else', 'Removal');
    log.log({ event: 'sign_in' }, 'Audit');
    expect(entries()).toHaveLength(102);
    jest.advanceTimersByTime(1000);
    expect(entries()).toEqual([expect.objectContaining({ level: 'warn', context: 'Hub', left_out: 900 })]);
  });

  it('of equal errors the first is written, and then one line a second without a stack', () => {
    const fails = (table = 'users') =>
      log.error(
        {
          request_id: String(Math.random()),
          table,
          err: new Error('no', { cause: Object.assign(new Error('away'), { code: 'E' }) }),
        },
        'Filter',
      );
    for (let i = 0; i < 1000; i++) fails();
    fails('devices');
    expect(entries()).toMatchObject([
      { table: 'users', err: { stack: expect.any(String) } },
      { table: 'devices' },
    ]);
    for (let second = 0; second < 3; second++) {
      jest.advanceTimersByTime(999);
      for (let i = 0; i < 7; i++) fails();
      jest.advanceTimersByTime(1);
      const left_out = second === 0 ? 1006 : 7;
      expect(entries()).toEqual([
        {
          level: 'error',
          time: expect.any(String),
          context: 'Filter',
          table: 'users',
          msg: 'no',
          error: 'Error: no, caused by Error: away (E)',
          left_out,
        },
      ]);
    }
    jest.advanceTimersByTime(1000);
    expect(entries()).toEqual([]);
    fails();
    expect(entries()).toMatchObject([{ err: { message: 'no', stack: expect.any(String) } }]);
  });

  it('errors that differ each time are of one kind after fifty', () => {
    for (let i = 0; i < 5000; i++) log.error(new Error(`no ${i}`), 'Filter');
    expect(entries()).toHaveLength(51);
    jest.advanceTimersByTime(1000);
    expect(entries()).toEqual([{ level: 'error', time: expect.any(String), left_out: 4949 }]);
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(1000);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('an error that quotes the input is counted without it', () => {
    for (let i = 0; i < 2; i++) log.error(new SyntaxError(SECRET), 'Filter');
    jest.advanceTimersByTime(1000);
    expect(reveals(entries())).toBe(false);
  });
});
