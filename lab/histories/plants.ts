import { jest } from '@jest/globals';
import { ChangedClaims } from '../../packages/server/src/feed/changed-claims.js';
import { EndedSessions } from '../../packages/server/src/feed/ended-sessions.js';
import { StreamConnection } from '../../packages/server/src/feed/stream-connection.js';
import type { FaultName } from '../world/faults.js';
import type { ReadEvent } from '../../test/support/event-stream.js';
import type { Lie } from './calls.js';
import { claimsOf } from './ledger.js';

/** A fault in what readers get: in answers, in the events of the feed, or in the verifier of the APIs. */
export interface Plant {
  readonly name: string;
  /** A violation, as `rule: text`, that it has to lead to. */
  readonly finds: RegExp;
  readonly lie?: Lie;
  readonly drops?: (event: ReadEvent) => boolean;
  readonly spy?: () => unknown;
  /** Without which it changes nothing. */
  readonly faults?: readonly FaultName[];
}

/** A fault in a statement of a service with limits, or of one where users become one or have programs. */
export interface PlantedStatement extends Pick<Plant, 'name' | 'finds'> {
  /** In the statement's text: regular expression, and what replaces the match. */
  readonly sql: readonly [pattern: string, replacement: string];
  readonly of?: 'merges' | 'programs';
}

/** Remembers the first answer for each key, and repeats it. */
function cached(path: string, keyOf: (asked: Parameters<Lie>[1]) => unknown): Lie {
  const first = new Map<unknown, Parameters<Lie>[2]>();
  return (to, asked, body) => {
    if (to !== path || 'error' in body) return body;
    const key = JSON.stringify(keyOf(asked));
    const known = first.get(key);
    if (!known && body['active'] !== false) first.set(key, body);
    return known ?? body;
  };
}

export const PLANTS: readonly Plant[] = [
  {
    name: 'introspection repeats its first answer',
    finds: /^accepted after its end: introspect/,
    lie: cached('/oauth2/introspect', ({ body }) => body),
  },
  {
    name: 'GET /me repeats its first answer for a user',
    finds: /^wrong claims: use shows claims .* after the answer/,
    lie: cached('/me', ({ bearer }) => claimsOf(bearer!).holder.user),
  },
  {
    name: 'a refresh repeats its first token',
    finds: /^wrong claims: refresh shows claims .* after the answer/,
    lie: cached('/oauth2/refresh', ({ body }) => body),
  },
  {
    name: 'introspection has roles of another change',
    finds: /^wrong claims: introspect .* mixture/,
    lie: (_path, _asked, body) => (body['active'] && body['roles'] ? { ...body, roles: ['role-1'] } : body),
  },
  {
    name: 'the feed leaves out one session in four',
    finds: /^missing in the feed: .* never/,
    drops: ({ event, data }) => event === 'ended' && /^[0-3]/.test(data['session_id']!),
  },
  {
    name: 'the verifier ignores ended sessions',
    finds: /^accepted after its end: verify/,
    spy: () => jest.spyOn(EndedSessions.prototype, 'has').mockReturnValue(false),
  },
  {
    name: 'the verifier trusts a silent feed',
    finds: /^accepted after its end: verify/,
    spy: () => jest.spyOn(StreamConnection.prototype, 'isFresh', 'get').mockReturnValue(true),
    faults: ['feed-cut'],
  },
  {
    name: 'the verifier ignores changed claims',
    finds: /^wrong claims: verify shows claims .* after the answer/,
    spy: () => jest.spyOn(ChangedClaims.prototype, 'replacing').mockReturnValue(undefined),
  },
];

export const PLANTED_STATEMENTS: readonly PlantedStatement[] = [
  {
    name: 'a refresh does not check the stored idle end',
    finds: /^accepted after its end: refresh .* after its idle end/,
    sql: [String.raw`session\.idle_ends_at <= now\(\) OR `, ''],
  },
  {
    name: 'a revocation does not find a session past its idle end',
    finds: /^accepted after its end: (?:use|introspect) .* signed out/,
    sql: ['"isIdle"[^]*$', '$& AND (idle_ends_at IS NULL OR idle_ends_at > now())'],
  },
  {
    name: 'sign-outs do not lock the user',
    finds: /^ended for no reason: \d+ of \d+ sessions/,
    sql: ['^(SELECT provider FROM users WHERE .*) FOR NO KEY UPDATE$', '$1'],
  },
  {
    name: 'a sign-in does not see that its account is joined to another user',
    finds: /^merged wrongly: .* is the former user/,
    sql: [
      String.raw`WHEN l\.merged_into IS NOT NULL THEN 'merged'\s+WHEN l\.suspended_at IS NOT NULL THEN 'suspended'`,
      '',
    ],
    of: 'merges',
  },
  {
    name: 'a new consent leaves the former session of the program',
    finds: /^accepted after its end: (?:introspect|refresh) of session .* signed out/,
    sql: [String.raw`(FROM "agent_devices" .*"device_id" = \$2\)\)) LIMIT 1`, '$1 LIMIT 0'],
    of: 'programs',
  },
  {
    name: 'each consent makes another device of the program',
    finds: /^answered for another: a sign-in of .* got another token/,
    sql: [
      '"AgentRequest"."device_id" AS',
      `overlay(gen_random_uuid()::text PLACING 'a6e17000-0000-8' FROM 1)::uuid AS`,
    ],
    of: 'programs',
  },
];
