import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(fileURLToPath(new URL(path, ROOT)), 'utf8');

/** docs/security.md says what the code says. */
describe('the list of bounds', () => {
  const document = read('docs/security.md');

  it('names files that exist', () => {
    const cells = document.split('\n').flatMap((line) => line.split('|').slice(-2, -1));
    const files = cells.flatMap((cell) => {
      const names = [...cell.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => name!);
      const room = names[0]?.split('/')[0] ?? '';
      return names.map((name) => (name.includes('/') ? name : `${room}/${name}`));
    });
    expect(files.length).toBeGreaterThan(30);
    for (const file of files) expect([file, existsSync(new URL(`src/${file}`, ROOT))]).toEqual([file, true]);
  });

  // Where the number is in the code, and the document's words for it.
  it.each([
    ['http/express.adapter.ts', 'headersTimeout: 10_000', '16 KiB (Node.js), 10 s'],
    ['http/express.adapter.ts', 'requestTimeout: 30_000', 'after decompression, 30 s'],
    ['http/express.adapter.ts', 'keepAliveTimeout: 65_000', '65 s after an answer'],
    ['http/open-files.ts', 'Math.max(64, limit / 32)', '1/32 of it (64 at least)'],
    ['http/open-files.ts', 'Math.max(16, limit / 32)', 'another 1/32 (16 at least)'],
    ['http/read-body.ts', 'MOST_PARAMETERS = 100;', '100 parameters of a form'],
    ['http/json-faults.ts', 'DEEPEST_VALUE = 100;', 'nested 100 deep'],
    ['http/unreadable-requests.ts', 'LINGER_MS = 1000;', 'destroyed 1 s after the answer'],
    ['http/unread-answers.ts', 'MOST = 16;', '16, then it is cut off'],
    ['http/unread-answers.ts', 'SILENCE_MS = 60_000;', '60 s without anything that moves'],
    ['http/foreign-upgrades.ts', 'LONGEST_MS = 10_000;', 'as if it did not, 10 s at most'],
    ['http/line-limit.ts', 'MOST_LINES = 100;', '100 a second for each kind'],
    ['http/request-log.ts', 'LONGEST_PATH = 200;', '200 characters'],
    ['operations/metrics/metrics-server.ts', 'MOST_CONNECTIONS = 100;', '100 connections at `METRICS_PORT`'],
    ['operations/traces/traces.ts', 'WARN_EVERY_MS = 60_000;', 'one line of the log a minute'],
    ['rate-limit/counter.ts', 'MOST_KEYS = 50_000;', '50,000 for each limit'],
    ['database/database-busy.ts', 'MOST_WAITING = 10_000;', '10,000 for each kind'],
    ['database/coalesce.ts', 'PATIENCE_MS = 1600;', '1.6 s from call to answer'],
    ['auth/sign-in.store.ts', 'LATEST_MS = 1000;', 'begins within 1 s of its call'],
    ['database/data-source.ts', 'CONNECT_TIMEOUT_MS = 900;', '10,000, 0.9 s'],
    ['database/data-source.ts', 'QUERY_TIMEOUT_MS = 1000;', '| 1 s '],
    ['database/cancelling-client.ts', 'LONGEST_FAREWELL_MS = 5000;', 'rid of it, 5 s at most'],
    ['database/write-check.ts', 'FRESH_MS = 1000;', 'one a second, however many ask'],
    ['device/last-seen.ts', 'MOST_SEEN = 20_000;', '20,000 between two writes'],
    ['token/ended-sessions.ts', 'REMEMBER_MS = 15_000;', 'those of the last 30 s'],
    ['provider/undici-adapter.ts', 'keepAliveTimeout: 4000,', 'an idle one is closed after 4 s'],
    ['token/dpop-proof.ts', 'LONGEST = 4096;', '4 KiB, one header'],
    ['token/dpop-proof.ts', 'LONGEST_JTI = 256;', 'an id of 256 characters'],
    ['token/access-token.ts', 'PROOF_KEPT_S = 180;', 'stays for three minutes at least'],
    ['token/session.sql.ts', "interval '10 minutes'", '10 minutes at least'],
    ['token/session.sql.ts', 'MOST_ACCESS_TOKENS = 50_000;', '50,000 of one user'],
    ['token/ended-sessions.streams.ts', 'MOST_WAITING = 8 * 1024 * 1024;', '8 MiB (35,000 sessions), then'],
    ['token/ended-sessions.streams.ts', 'MOST = 100;', '| 100, refused with `slow_down`'],
    ['http/event-stream.ts', 'MOST_UNSENT = 1024 * 1024;', '1 MiB, then it is cut off; also'],
    ['http/event-stream.ts', 'FAREWELL_MS = 400;', '0.4 s, then the connection is cut'],
    ['token/ended-sessions.past.ts', 'PAGE = 1000;', '1,000 in a statement, one statement at a time'],
    ['token/ended-sessions.cursor.ts', '(\\d{1,15})-(\\d{1,18})', '15 digits and 18'],
    ['realtime/json-data.ts', 'LONGEST = 512 * 1024;', '512 KiB of JSON'],
    [
      'realtime/admission-queue.ts',
      'MOST_OF_A_NETWORK = 500;',
      '500 of an address (an IPv6 /64), 20,000 in all',
    ],
    ['realtime/admission-queue.ts', 'MOST = 20_000;', '20,000 in all, 10 s each'],
    ['realtime/admission-queue.ts', 'LONGEST_WAIT_MS = 10_000;', '20,000 in all, 10 s each'],
    ['realtime/admission-queue.ts', 'BEGUN_A_TURN = 8;', 'eight steps a turn'],
    ['realtime/admission-queue.ts', 'MOST_JUDGED = 128;', '128 tokens at once'],
    ['realtime/waiting-room.ts', 'MOST_OF_A_NETWORK = 500;', '500 of an address'],
    ['realtime/waiting-room.ts', 'MOST = 5000;', '5,000 in all, 10 s and one token each'],
    ['realtime/waiting-room.ts', 'LONGEST_WAIT_MS = 10_000;', '5,000 in all, 10 s and one token each'],
    ['realtime/connection-registry.ts', 'SOCKETS_A_USER = 20;', '20 an instance'],
    ['realtime/message-bucket.ts', 'PER_SECOND = 20;', '20 frames a second'],
    ['realtime/message-bucket.ts', 'BURST = 50;', 'bursts of 50'],
    ['realtime/web-socket-server.ts', 'maxFragments: 128', 'in 128 fragments'],
    ['realtime/connection.ts', 'LONGEST_QUEUE = 500;', '500 packets or 1 MiB of events'],
    ['realtime/outgoing.ts', '!raw.writableNeedDrain', 'and one event beside them'],
    ['realtime/message-limit.ts', 'MOST_UNREAD = 1000;', '1,000 packets of any kind'],
    ['realtime/transport.ts', 'FAREWELL_MS = 400;', '0.4 s, then the connection is cut'],
    ['realtime/hint-bus.ts', 'MOST_UNSENT = 10_000;', 'the newest of 10,000 users'],
    ['realtime/postgres-hints.ts', 'MOST_WAITING = 10_000;', '10,000, as text of 2 KiB'],
    ['realtime/postgres-hints.ts', 'LARGEST_WHOLE = 2048;', '10,000, as text of 2 KiB'],
    ['realtime/postgres-hints.ts', 'LONGEST_MESSAGE = 7900;', 'messages of 7,900 bytes'],
    ['realtime/postgres-hints.ts', 'TURN_MS = 10;', 'a hundred a second'],
    ['realtime/catch-up.ts', 'USERS_A_STATEMENT = 1000;', '1,000 in a statement'],
    ['realtime/delivery.ts', 'MOST_TOLD = 1000;', 'told once each, of 1,000'],
    ['sample-provider/password-check.ts', 'WAITING = 100;', '100 wait, 10 of one network'],
    ['sample-provider/password-check.ts', 'WAITING_OF_A_NETWORK = 10;', '100 wait, 10 of one network'],
    ['provider/provider.ts', 'LOGOUT_MS = 2000;', '2 s, then a sign-out goes without it'],
    ['channel/channel.removal.ts', 'SLICE = 1000;', '1,000 events in a statement'],
    ['provider/logout/kept-keys.ts', 'LIFE_MS = 300_000;', 'kept for five minutes'],
    ['provider/logout/kept-keys.ts', 'BETWEEN_MS = 30_000;', 'at most once in 30 s'],
    ['provider/logout/kept-keys.ts', 'MOMENT_MS = 1000;', 'after a failure not for 1 s'],
    ['provider/logout/logout-claims.ts', 'LONGEST_S = 86_400;', 'for a day after `iat` at most'],
    ['provider/logout/logged-out.ts', 'REMEMBERED_S = 120;', 'and one or two of two minutes'],
    [
      'auth/clients/authorization-codes.ts',
      'CODE_TTL = 60;',
      'a code lives 60 s and costs a sign-in at the provider',
    ],
    ['auth/clients/client-authorize.dto.ts', 'x7e]{1,2048}', '`state` 2048 characters'],
    ['auth/backchannel-logout.dto.ts', 'LONGEST = 8192;', '8192 characters'],
    ['token/provider-sessions.store.ts', 'MOST_USERS = 100;', '100; one that names more ends nothing'],
    ['provider/check-adapters.ts', 'load: 30_000', '30 s to load, 5 s'],
    ['provider/check-adapter.ts', 'CHECK_MS = 5000;', '5 s to check its settings'],
    ['provider/check-adapter.ts', 'MOST_LINES = 20;', '20 lines'],
  ])('%s has %s', (file, code, words) => {
    expect(read(`src/${file}`)).toContain(code);
    expect(document).toContain(words);
  });
});
