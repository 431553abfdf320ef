import { readFileSync } from 'node:fs';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

// Where the number is in the code, and the document's words for it.
it.each([
  ['feed/ended-sessions.ts', 'MOST = 2_000_000;', '2,000,000, for as long'],
  ['feed/ended-sessions.ts', 'KEEP_MS = 300_000;', 'five minutes\nmore'],
  ['token/key-set.ts', 'FRESH_MS = 300_000;', 'fetched again (five minutes'],
  ['token/key-set.ts', 'USABLE_MS = 3_600_000;', 'known keys are used for an hour'],
  ['token/key-set.ts', 'FETCH_EVERY_MS = 1000;', 'once a second at most'],
  ['token/key-set.ts', 'MOST_WAITING = 1000;', '1,000, some seconds each'],
  ['token/key-set.ts', 'MOST_KEYS = 1000;', 'revoked keys that are remembered'],
  ['calls/introspector.ts', 'CALLS_AT_A_TIME = 100;', '100 at a time'],
  ['calls/introspector.ts', 'MOST_WAITING = 10_000;', '10,000 wait'],
  ['calls/introspector.ts', 'TIMEOUT_MS = 2500;', '2.5 s each in all'],
  ['calls/introspector.ts', 'MOST_ANSWERS = 10_000;', '10,000, a second each'],
  ['feed/event-stream-parser.ts', 'LONGEST = 65_536;', '64 KiB'],
  ['calls/service-calls.ts', 'LONGEST_ANSWER = 65_536;', '64 KiB'],
  ['feed/stream-connection.ts', 'SILENCE_MS = 2000;', 'After 2 s without a word'],
  ['feed/revocation-feed.ts', 'FIRST_WAIT_MS = 100;', '0.1 to 5 s'],
  ['feed/revocation-feed.ts', 'LONGEST_WAIT_MS = 5000;', '0.1 to 5 s'],
  ['verifier.ts', 'TIMEOUT_MS = 5000;', 'Calls are given 5 s'],
])('README says what %s says: %s', (file, code, words) => {
  expect(read(`src/${file}`)).toContain(code);
  expect(read('README.md').replaceAll(/\s+/g, ' ')).toContain(words.replaceAll(/\s+/g, ' '));
});
