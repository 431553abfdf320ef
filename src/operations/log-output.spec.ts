import { createLog } from './log.js';
import { readableLine } from './log-output.js';

/** Formats a line of the JSON log. */
function shown(write: (log: ReturnType<typeof createLog>) => void): string {
  let line = '';
  write(createLog('trace', { write: (json) => void (line = json) }));
  return readableLine(JSON.parse(line) as Record<string, unknown>);
}

describe('a line of the text log', () => {
  it.each<[string, Parameters<typeof shown>[0], string]>([
    ['a message', (log) => log.warn('REDIRECT_URIS is not set'), 'REDIRECT_URIS is not set'],
    [
      'the audit trail: no dump of fields',
      (log) =>
        log.info({ context: 'Audit', id: '0e-5', event: 'sign_in', reason: 'a b', actor: { type: 'user' } }),
      'sign_in id=0e-5 reason="a b" actor.type=user',
    ],
    [
      'numbers, texts, lists, and absent values',
      (log) => log.info({ ms: 3, path: '/a b', ids: ['x', 1], error: undefined, deviceId: null }, 'request'),
      'request ms=3 path="/a b" ids=["x",1] deviceId=null',
    ],
    [
      'a context without a message',
      (log) => log.info({ context: 'Metrics', left_out: 3 }),
      'Metrics left_out=3',
    ],
    [
      'line breaks and escape sequences',
      (log) =>
        log.info({ path: 'a\n\u001b[2Jb\u2028', name: '\u009bc' }, 'one\r\nINFO: two \u001b]0;x\u0007'),
      String.raw`one\u000d\u000aINFO: two  path="a\n\u001b[2Jb\u2028" name=""`,
    ],
  ])('%s', (_name, write, line) => expect(shown(write)).toBe(line));

  it('an error has its stack on lines of its own, and its causes', () => {
    const cause = Object.assign(new Error('a\nforged line'), { code: 'ECONNRESET' });
    const lines = shown((log) => log.error({ err: new TypeError('outer', { cause }) }, 'no')).split('\n');
    expect(lines[0]).toBe('no: TypeError: outer');
    expect(lines).toContain(String.raw`caused by Error: a\u000aforged line (ECONNRESET)`);
    expect(lines.filter((line) => !/^ +at |^no: |^caused by /.test(line))).toEqual([]);
    expect(lines.length).toBeGreaterThan(3);
  });
});
