import { readFileSync } from 'node:fs';
import { withPart } from '../proof/document.js';
import { latencyFigures } from './latency-figures.js';
import { drawLines } from './line-chart.js';
import { picturesOf } from './pictures.js';
import type { Recording } from './soak.js';
import { verdictsOf } from './verdicts.js';

const MINUTES = 45;
const WARM_UP = 12;
type Values = Record<string, number>;

const IDLE: Values = {
  'a sockets': 0,
  'b sockets': 0,
  'a streams': 0,
  'b streams': 0,
  'a files': 24,
  'b files': 24,
  'database connections': 2,
  'rows access_tokens': 0,
  'rows authorization_states': 0,
  'rows refresh_tokens': 0,
  'rows presence': 0,
};

/** What a service without a fault shows. @param more is added to each sample, and may depend on its minute */
function recording(more: (minutes: number) => Values = () => ({})): Recording {
  const samples = Array.from({ length: MINUTES * 12 }, (_, i) => {
    const minutes = i / 12;
    const saw = (i * 7) % 30; // garbage that is collected
    const values: Values = {
      'a rss MiB': 180 + (saw % 5),
      'b rss MiB': 185 - (saw % 4),
      'a heap MiB': 60 + saw,
      'b heap MiB': 61 + saw,
      'a sockets': 98 + (i % 5),
      'b sockets': 97 + (i % 6),
      'a files': 140 + (i % 9),
      'b files': 138 + (i % 9),
      'a pool': 8,
      'b pool': 7,
      'database connections': 15,
      'rows access_tokens': Math.min(6000, minutes * 3000) + (i % 200), // not level before the warm-up is over
      'rows users': 100,
      'dead access_tokens': 50 + saw,
      'MiB access_tokens': 3,
    };
    const added = more(minutes);
    for (const [name, value] of Object.entries(added)) values[name] = (values[name] ?? 0) + value;
    return { minutes, values };
  });
  const one = { count: 2000, p50: 2.1, p99: 9.5, max: 30 };
  const reports = Array.from({ length: 9 }, () => ({
    latencies: { refresh: one },
    unexpected: {},
    counts: {},
  }));
  const idle = { minutes: 0, values: IDLE };
  return {
    before: idle,
    after: { minutes: 51, values: IDLE },
    samples,
    reports,
    errors: [],
    exitCodes: [0, 0],
  };
}

const failing = (one: Recording): string[] =>
  verdictsOf(one, WARM_UP).flatMap(({ holds, what }) => (holds ? [] : [what.split(':')[0]!]));

describe('what a soak is judged by', () => {
  it('holds for what is level, whatever it was before the warm-up was over', () => {
    expect(failing(recording())).toEqual([]);
    expect(failing(recording((minutes) => ({ 'a rss MiB': Math.min(minutes, 10) * 8 })))).toEqual([]);
  });

  it.each([
    ['resident memory of instance a', 'a rss MiB', 20 / 60],
    ['heap of instance b (least of each minute)', 'b heap MiB', 20 / 60],
    ['rows access_tokens', 'rows access_tokens', 30],
    ['rows users', 'rows users', 4],
    ['b files', 'b files', 1],
    ['a pool', 'a pool', 0.5],
    ['database connections', 'database connections', 0.5],
  ])('finds that %s grows', (what, name, perMinute) => {
    expect(failing(recording((minutes) => ({ [name]: minutes * perMinute })))).toEqual([what]);
  });

  it('finds answers that no client should get, and errors in the logs', () => {
    const good = recording();
    const bad = { ...good.reports[3]!, unexpected: { 'refresh 500 {}': 2 } };
    const found = verdictsOf({ ...good, reports: [...good.reports, bad], errors: ['2 × x'] }, WARM_UP);
    expect(found.filter(({ holds }) => !holds).map(({ figure }) => figure)).toEqual([
      '20000; 2; refresh 500 {}',
      '2 × x; 0, 0',
    ]);
    expect(failing({ ...good, exitCodes: [0, 1] })).toEqual(['errors in the logs; exit codes']);
  });

  it.each(['a sockets', 'b streams', 'rows refresh_tokens', 'rows presence'])(
    'finds that %s is left over',
    (name) => {
      const good = recording();
      expect(failing({ ...good, after: { minutes: 51, values: { ...IDLE, [name]: 1 } } })).toHaveLength(1);
      expect(failing({ ...good, after: { minutes: 51, values: { ...IDLE, [name]: NaN } } })).toHaveLength(1);
    },
  );

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
