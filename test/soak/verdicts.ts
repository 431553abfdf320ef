import type { Figure } from '../support/proof.js';
import { bySpan, lowest, median, namesOf, seriesOf, type Point } from './series.js';
import { slopeOf, type Slope } from './slope.js';
import type { Recording } from './soak.js';

/**
 * MiB an hour. At 150 requests a second there are 540,000 in an hour: whoever keeps 32 bytes of each grows by 16 MiB, and a
 * session, a socket or a closure that is kept is larger than that.
 */
const MOST_GROWTH_MIB = 16;
/** What is level may grow by this share of itself in the time that was watched, and by this number. */
const LEVEL_SHARE = 0.1;
const LEVEL_ROWS = 100;
const LEVEL_FILES = 10;
/** Tables whose rows all expire in a soak's short lives: nothing of them is left in the end. */
const EMPTY_AFTER = ['access_tokens', 'authorization_states', 'refresh_tokens', 'presence'];

export interface Verdict extends Omit<Figure, 'part'> {
  readonly holds: boolean;
}

/**
 * What a soak shows, with what is wanted.
 * @param warmUp minutes that are left out: until code is compiled, pools are filled and tables are as full as they get
 */
export function verdictsOf(recording: Recording, warmUp: number): Verdict[] {
  const { samples } = recording;
  const warm = samples.filter(({ minutes }) => minutes >= warmUp);
  const points = (name: string): Point[] => seriesOf(warm, name);
  const level = (name: string, room: number): Verdict => isLevel(name, points(name), room);
  const tables = namesOf(warm).flatMap((name) => (name.startsWith('rows ') ? [name] : []));
  return [
    ...['a', 'b'].flatMap((instance) => [
      growth(`resident memory of instance ${instance}`, bySpan(points(`${instance} rss MiB`), 1, median)),
      // The least of each minute: what is left when garbage was collected.
      growth(
        `heap of instance ${instance} (least of each minute)`,
        bySpan(points(`${instance} heap MiB`), 1, lowest),
      ),
    ]),
    ...tables.map((name) => level(name, LEVEL_ROWS)),
    ...['a files', 'b files', 'a pool', 'b pool', 'database connections'].map((name) =>
      level(name, LEVEL_FILES),
    ),
    ...unexpected(recording),
    ...afterwards(recording),
  ];
}

function growth(what: string, points: readonly Point[]): Verdict {
  const { estimate, low, high } = times(slopeOf(points), 60);
  const level = median(points.map(([, value]) => value));
  return {
    what: `${what}: level; slope (95 % interval)`,
    figure: `${level.toFixed(0)} MiB; ${estimate.toFixed(1)} MiB/h (${low.toFixed(1)} to ${high.toFixed(1)})`,
    wanted: `≤ ${MOST_GROWTH_MIB} MiB/h`,
    holds: estimate <= MOST_GROWTH_MIB,
  };
}

function isLevel(what: string, points: readonly Point[], room: number): Verdict {
  const values = points.map(([, value]) => value);
  const middle = median(values);
  const watched = (points.at(-1)?.[0] ?? 0) - (points[0]?.[0] ?? 0);
  const grown = slopeOf(bySpan(points, 1, median)).estimate * watched;
  const most = Math.max(middle * LEVEL_SHARE, room);
  return {
    what: `${what}: middle; least to most; growth in ${watched.toFixed(0)} min`,
    figure: `${middle.toFixed(0)}; ${Math.min(...values)} to ${Math.max(...values)}; ${grown.toFixed(0)}`,
    wanted: `growth ≤ ${most.toFixed(0)}`,
    holds: grown <= most,
  };
}

function unexpected({ reports, errors, exitCodes }: Recording): Verdict[] {
  const wrong = reports.flatMap((report) => Object.entries(report.unexpected));
  const count = wrong.reduce((sum, [, times_]) => sum + times_, 0);
  const texts = [...new Set(wrong.map(([text]) => text))];
  const asked = reports.flatMap(({ latencies }) => Object.values(latencies).map((one) => one.count));
  return [
    {
      what: 'requests and connects; answers that no client should get',
      figure: `${asked.reduce((sum, one) => sum + one, 0)}; ${[count, ...texts].join('; ')}`,
      wanted: '0 of them',
      holds: count === 0,
    },
    {
      what: 'errors in the logs; exit codes',
      figure: `${errors.length === 0 ? 'none' : errors.join('; ')}; ${exitCodes.join(', ')}`,
      wanted: 'none; 0',
      holds: errors.length === 0 && exitCodes.every((code) => code === 0),
    },
  ];
}

/** Whether all comes back to where it was before the first client. */
function afterwards({ before, after }: Recording): Verdict[] {
  const sum = (names: readonly string[], values: Readonly<Record<string, number>>): number =>
    names.reduce((all, name) => all + (values[name] ?? NaN), 0);
  const back = (what: string, names: readonly string[], room: number): Verdict => {
    const [was, is] = [sum(names, before.values), sum(names, after.values)];
    return {
      what: `when all clients are gone and everything has expired: ${what} (before the first client)`,
      figure: `${is} (${was})`,
      wanted: `≤ ${was + room}`,
      holds: is <= was + room,
    };
  };
  return [
    back('open sockets', ['a sockets', 'b sockets'], 0),
    back('streams of ended sessions', ['a streams', 'b streams'], 0),
    ...EMPTY_AFTER.map((table) => back(`rows of ${table}`, [`rows ${table}`], 0)),
    back('file descriptors', ['a files', 'b files'], LEVEL_FILES),
    back('connections to the database', ['database connections'], LEVEL_FILES),
  ];
}

function times({ estimate, low, high }: Slope, factor: number): Slope {
  return { estimate: estimate * factor, low: low * factor, high: high * factor };
}
