import { readFileSync } from 'node:fs';
import { withPart } from '../proof/document.js';
import { COUNTED, KINDS } from './clients/kinds.js';
import { latencyFigures } from './latency-figures.js';
import { LIMITS } from './limits.js';
import { drawLines } from './line-chart.js';
import { picturesOf } from './pictures.js';
import { IDLE, oneIn, recording, TABLE_NAMES, WARM_UP, type Values } from './planted.js';
import { rowVerdicts } from './row-verdicts.js';
import type { Recording } from './soak.js';
import type { Report } from './clients/tally.js';
import { trafficVerdicts } from './traffic-verdicts.js';
import type { Verdict } from './verdict.js';
import { verdictsOf } from './verdicts.js';

const failingOf = (verdicts: readonly Verdict[]): string[] =>
  verdicts.flatMap(({ holds, what }) => (holds ? [] : [what.split(/[:,]/)[0]!]));
const failing = (one: Recording): string[] => failingOf(verdictsOf(one, WARM_UP));
const failingRows = (one: Recording): string[] =>
  failingOf(
    rowVerdicts(
      one.samples.filter(({ minutes }) => minutes >= WARM_UP),
      one,
    ),
  );
const grows = (name: string, aMinute: number): string[] =>
  failing(recording((minutes) => ({ [name]: minutes * aMinute })));

describe('what a soak is judged by', () => {
  it('holds for what is level, whatever it was before the warm-up was over', () => {
    expect(failing(recording())).toEqual([]);
    expect(failing(recording((minutes) => ({ 'a rss MiB': Math.min(minutes, 10) * 8 })))).toEqual([]);
  });

  it.each([
    ['resident memory of instance a', 'a rss MiB', 20 / 60],
    ['heap of instance b (least of each minute)', 'b heap MiB', 20 / 60],
    ['file descriptors of instance b', 'b files', 0.4],
  ])('finds that %s grows', (what, name, aMinute) => {
    expect(grows(name, aMinute)).toEqual([what]);
  });

  it('takes the upper end of the interval: what may be too much does not hold', () => {
    const wild = (minutes: number): Values => ({
      'a rss MiB': minutes / 6 + 9 * Math.sin(40 * Math.floor(minutes)),
    });
    const found = verdictsOf(recording(wild), WARM_UP).filter(({ holds }) => !holds);
    expect(found.map(({ what }) => what)).toEqual([expect.stringContaining('resident memory of instance a')]);
    const [, estimate, high] = /([\d.]+) \(-?[\d.]+ to ([\d.]+)\) MiB\/h$/
      .exec(found[0]!.figure)!
      .map(Number);
    expect([estimate! <= 16, high! > 16]).toEqual([true, true]);
  });

  it('tells which part of the resident memory grows, and does not judge it', () => {
    const good = recording((minutes) => ({ 'a rss MiB': minutes / 10, 'a file pages MiB': minutes / 10 }));
    const [told] = verdictsOf(good, WARM_UP).filter(({ what }) => what.startsWith('of which, in instance a'));
    expect(told!.holds).toBe(true);
    expect(told!.figure).toMatch(/^0\.0 \(.*; 0\.0 \(.*; 6\.0 \(.*; -?0\.0 \(.* MiB\/h$/);
  });

  describe.each(TABLE_NAMES)('of %s', (table) => {
    const stays = (share: number, series = 'rows'): string[] =>
      failingRows(recording((minutes) => ({ [`${series} ${table}`]: minutes * oneIn(share, table) })));

    if (table === 'channel_events')
      it('finds each row that is not removed, and not that histories fill', () => {
        expect(stays(1000, 'overdue')).toEqual([`rows ${table}`]);
        expect(stays(5)).toEqual([]);
      });
    else
      it('finds that one row in twenty is not removed', () => {
        expect(stays(20)).toEqual([`rows ${table}`]);
        expect(stays(1000)).toEqual([]);
      });

    it.each(['written', 'removed'])('finds that none is %s', (what) => {
      const still = recording();
      for (const { values } of still.samples) (values as Values)[`${what} ${table}`] = 7;
      expect(failingRows(still)).toEqual([`rows ${table}`]);
    });
  });

  it('finds that one key of Redis in twenty does not expire, and says nothing where there is none', () => {
    expect(grows('redis keys', 45)).toEqual(['keys in Redis']);
    expect(grows('redis keys', 1)).toEqual([]);
    const { samples, ...rest } = recording();
    const without = samples.map(({ minutes, values }) => ({
      minutes,
      values: { ...values, 'redis keys': NaN },
    }));
    expect(failing({ ...rest, samples: without, hasRedis: false })).toEqual([]);
  });

  it('finds that one row in twenty of one table is not removed, and nothing else', () => {
    expect(grows('rows sample_codes', oneIn(20, 'sample_codes'))).toEqual(['rows sample_codes']);
  });

  it.each([
    ['rows signing_keys', 1],
    ['rows instances', 1],
    ['a pool', 3],
    ['database connections', 6],
  ])('finds that there are more %s than there may be', (name, more) => {
    expect(failing(recording((minutes) => ({ [name]: minutes > 40 ? more : 0 })))).toEqual([name]);
  });

  it('finds that there are more file descriptors than there may be, for a moment', () => {
    const found = failing(recording((minutes) => ({ 'a files': minutes > 40 && minutes < 40.5 ? 100 : 0 })));
    expect(found).toEqual(['file descriptors of instance a']);
  });

  it('finds answers that no client should get, and errors in the logs', () => {
    const good = recording();
    const bad = { ...good.reports[3]!, unexpected: { 'refresh 500 {}': 2 } };
    const found = verdictsOf({ ...good, reports: [bad], errors: ['2 × x'] }, WARM_UP);
    expect(found.filter(({ holds }) => !holds).map(({ figure }) => figure)).toEqual([
      `${2000 * KINDS.length}; 2; refresh 500 {}`,
      '2 × x; 0, 0',
    ]);
    expect(failing({ ...good, exitCodes: [0, 1] })).toEqual(['errors in the logs; exit codes']);
  });

  it.each([...KINDS, ...COUNTED])('finds that there was no %s in a window', (what) => {
    const good = recording();
    const [first, { latencies, counts }] = good.reports as [Report, Report];
    const without = (all: object): object => ({ ...all, [what]: undefined });
    const report = { unexpected: {}, latencies: without(latencies), counts: without(counts) as Values };
    expect(failingOf(trafficVerdicts({ ...good, reports: [first, report, first] }))).toEqual(['of which']);
  });

  it.each(LIMITS)(
    'finds that nobody was refused by the limit %s, or that too many were let through',
    (limit) => {
      const good = recording();
      const [report] = good.reports;
      const counted = (more: Values): Recording => ({
        ...good,
        reports: [{ ...report!, counts: { ...report!.counts, ...more } }],
      });
      const what = `beyond the limit ${limit}`;
      expect(failingOf(trafficVerdicts(counted({ [`beyond ${limit}: refused`]: 0 })))).toEqual([what]);
      const { aMinute, counters } = good.allowed[limit];
      const most = aMinute * counters * 46; // a minute that has begun counts as one
      expect(failingOf(trafficVerdicts(counted({ [`beyond ${limit}: let through`]: most })))).toEqual([]);
      expect(failingOf(trafficVerdicts(counted({ [`beyond ${limit}: let through`]: most + 1 })))).toEqual([
        what,
      ]);
    },
  );

  it.each([
    'a sockets',
    'b streams',
    'rows authorization_codes',
    'rows idempotency_keys',
    'rows logout_tokens',
    'rows refresh_tokens',
    'rows sample_codes',
    'rows presence',
    'overdue channel_events',
    'redis keys',
  ])('finds that %s is left over', (name) => {
    const good = recording();
    for (const left of [1, NaN]) {
      const after = { minutes: 56, values: { ...good.after.values, [name]: left } };
      expect(failing({ ...good, after })).toHaveLength(1);
    }
  });

  it.each([
    ['users', 312],
    ['channels', 312],
    ['devices', 512],
    ['signing_keys', 7],
    ['instances', 3],
  ])('finds that there are more %s left than those who stay', (table, left) => {
    const good = recording();
    const after = { minutes: 56, values: { ...good.after.values, [`rows ${table}`]: left } };
    expect(failing({ ...good, after })).toHaveLength(1);
  });

  it.each([
    ['a files', 11],
    ['database connections', 7],
  ])('finds that %s do not go back', (name, more) => {
    const good = recording();
    const after = { minutes: 56, values: { ...good.after.values, [name]: IDLE[name]! + more } };
    expect(failing({ ...good, after })).toHaveLength(1);
  });

  it('tells latencies by window', () => {
    expect(latencyFigures(recording(), 5)[0]!.figure).toBe(
      `${'2.1 · '.repeat(8)}2.1; ${'9.5 · '.repeat(8)}9.5 ms`,
    );
  });
});

describe('the pictures of a soak', () => {
  const document = readFileSync(new URL('../../docs/reliability.md', import.meta.url), 'utf8');
  const pictures = picturesOf(recording(), 5);

  it('have a place in the document', () => {
    expect(withPart(document, 'soak', 'here it is')).toContain('here it is');
  });

  it.each(['memory', 'rows', 'files', 'latency'])('%s says in words what it shows', (name) => {
    const svg = drawLines(pictures.get(name)!);
    expect(svg).toMatch(/<desc id="desc">[^<]{50}/);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('draw a line where its values are, with words for those who do not see it', () => {
    const points = [
      [0, 0],
      [10, 30],
      [20, 15],
    ] as const;
    const svg = drawLines({
      title: 'T & <t>',
      panels: [{ heading: 'h, ms', lines: [{ label: 'one', points }] }],
    });
    const drawn = /<polyline points="([^"]+)"/
      .exec(svg)![1]!
      .split(' ')
      .map((pair) => pair.split(',').map(Number));
    const [[x0, y0], [x1, y1], [x2, y2]] = drawn as [number[], number[], number[]] as [
      [number, number],
      [number, number],
      [number, number],
    ];
    expect([x1 - x0, y0 - y1]).toEqual([(x2 - x0) / 2, 2 * (y0 - y2)]);
    expect(svg).toContain('T &amp; &lt;t&gt;');
    expect(svg).toContain('<desc id="desc">h, ms: one from 0 to 15, between 0 and 30.</desc>');
  });
});
