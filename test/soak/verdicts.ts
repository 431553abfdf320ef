import { fileVerdicts } from './file-verdicts.js';
import { memoryVerdicts } from './memory-verdicts.js';
import { redisVerdict } from './redis-verdict.js';
import { INSTANCES, rowVerdicts } from './row-verdicts.js';
import type { Recording } from './soak.js';
import { trafficVerdicts } from './traffic-verdicts.js';
import type { Verdict } from './verdict.js';

/** Tables whose rows all expire in a soak's short lives: nothing of them is left in the end. */
const EMPTY_AFTER = [
  'access_tokens',
  'authorization_codes',
  'authorization_states',
  'idempotency_keys',
  'logout_tokens',
  'presence',
  'refresh_tokens',
  'sample_codes',
];
/** Connections to the database that instances without clients may use at a moment, beyond those at the first look. */
const IDLE_CONNECTIONS = 6;
/** Descriptors: those, and of the connections to Redis and to the providers that are kept. */
const IDLE_FILES = 10;

/**
 * What a soak shows, with what is wanted.
 * @param warmUp minutes that are left out: until code is compiled, pools are filled and tables are as full as they get
 */
export function verdictsOf(recording: Recording, warmUp: number): Verdict[] {
  const warm = recording.samples.filter(({ minutes }) => minutes >= warmUp);
  return [
    ...['a', 'b'].flatMap((instance) => memoryVerdicts(warm, instance)),
    ...rowVerdicts(warm, recording),
    ...(recording.hasRedis ? [redisVerdict(warm)] : []),
    ...fileVerdicts(warm, recording),
    ...trafficVerdicts(recording),
    logs(recording),
    ...afterwards(recording),
  ];
}

function logs({ errors, exitCodes }: Recording): Verdict {
  return {
    what: 'errors in the logs; exit codes',
    figure: `${errors.length === 0 ? 'none' : errors.join('; ')}; ${exitCodes.join(', ')}`,
    wanted: 'none; 0',
    holds: errors.length === 0 && exitCodes.every((code) => code === 0),
  };
}

/** Whether all comes back to where it was before the first client, but for those who stay. */
function afterwards({ before, after, residents, rotations, hasRedis }: Recording): Verdict[] {
  const sum = (names: readonly string[], values: Readonly<Record<string, number>>): number =>
    names.reduce((all, name) => all + (values[name] ?? NaN), 0);
  const atMost = (what: string, names: readonly string[], bound: number): Verdict => {
    const [was, is] = [sum(names, before.values), sum(names, after.values)];
    return {
      what: `when all clients are gone and everything has expired: ${what} (before the first client)`,
      figure: `${is} (${was})`,
      wanted: `≤ ${bound}`,
      holds: is <= bound,
    };
  };
  const back = (what: string, names: readonly string[], room: number): Verdict =>
    atMost(what, names, sum(names, before.values) + room);
  return [
    back('open sockets', ['a sockets', 'b sockets'], 0),
    back('streams of ended sessions', ['a streams', 'b streams'], 0),
    ...EMPTY_AFTER.map((table) => back(`rows of ${table}`, [`rows ${table}`], 0)),
    atMost('rows of users', ['rows users'], residents.users),
    atMost('rows of channels', ['rows channels'], residents.users),
    atMost('rows of devices', ['rows devices'], residents.devices),
    atMost('events that should have been removed', ['overdue channel_events'], 0),
    atMost('rows of signing_keys', ['rows signing_keys'], 1 + rotations),
    atMost('rows of instances', ['rows instances'], INSTANCES),
    ...(hasRedis ? [back('keys in Redis', ['redis keys'], 0)] : []),
    back('file descriptors', ['a files', 'b files'], IDLE_FILES),
    back('connections to the database', ['database connections'], IDLE_CONNECTIONS),
  ];
}
