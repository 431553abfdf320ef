import { readFileSync } from 'node:fs';
import { drawBars } from '../../bench/document/bars.js';
import { replaceBlock } from '../../bench/document/blocks.js';
import { ratioBars } from '../../bench/document/ratio-bars.js';

const DOCUMENT = new URL('../../docs/benchmark.md', import.meta.url);
const BLOCKS = [
  'W1',
  'W1P',
  'W2',
  'W3',
  'W4',
  'growth-sessions',
  'growth-pushes',
  'idle',
  'many-sockets',
  'peers',
];
const PLOTS = ['bench-floors', 'bench-growth', 'bench-peers'];

describe('what a run writes into the documents', () => {
  it('replaces what is between its own marks, and nothing else', () => {
    const before =
      'a\n\n<!-- bench:W1 -->\nold\n<!-- /bench:W1 -->\n\nb\n\n<!-- bench:W1P -->\nkept\n<!-- /bench:W1P -->\n';
    const once = replaceBlock(before, 'W1', 'new | $& $1');
    expect(once).toBe(before.replace('\nold\n', () => '\n\n```text\nnew | $& $1\n```\n\n'));
    expect(replaceBlock(once, 'W1', 'new | $& $1')).toBe(once);
    expect(() => replaceBlock(before, 'W2', 'new')).toThrow('no place for W2');
  });

  it.each(BLOCKS)('the document has a place for %s', (name) => {
    const text = readFileSync(DOCUMENT, 'utf8');
    expect(replaceBlock(text, name, 'x')).toContain(`<!-- bench:${name} -->\n\n\`\`\`text\nx\n`);
  });

  it.each(PLOTS)('the document shows %s, with words for those who do not see it', (name) => {
    const image = new RegExp(`!\\[[^\\]]{20,}\\]\\(pictures/${name}\\.svg\\)`);
    expect(image.test(readFileSync(DOCUMENT, 'utf8'))).toBe(true);
    expect(readFileSync(new URL(`pictures/${name}.svg`, DOCUMENT), 'utf8')).toMatch(/<desc id="desc">.{50}/);
  });
});

describe('a plot of the bench', () => {
  const chart = {
    title: 'T & <t>',
    groups: [
      { heading: 'one', mark: 1, bars: [{ label: 'a', value: 0.5, text: '0.50', own: true }] },
      {
        heading: 'two',
        bars: [
          { label: 'b', value: 300, text: '300' },
          { label: 'c', value: 0, text: '0' },
        ],
      },
    ],
  };
  const svg = drawBars(chart);
  const widths = [...svg.matchAll(/<rect x="\d+" y="\d+" width="([\d.]+)"/g)].map(([, width]) =>
    Number(width),
  );

  it('has a scale for each group, whose longest bar or mark takes the room', () => {
    const [half, full, none] = widths;
    expect(half! * 2).toBe(full);
    expect(none).toBe(0);
    expect(svg.match(/class="mark"/g)).toHaveLength(1);
  });

  it('draws a group of nothing but zeros', () => {
    const zeros = drawBars({
      title: 't',
      groups: [{ heading: 'h', bars: [{ label: 'z', value: 0, text: '0' }] }],
    });
    expect(zeros).not.toMatch(/NaN|Infinity/);
  });

  it('says in words what it shows, and escapes what it is given', () => {
    expect(svg).toContain('<desc id="desc">one: a 0.50. two: b 300, c 0.</desc>');
    expect(svg).toContain('<title id="title">T &amp; &lt;t&gt;</title>');
    expect(svg).toContain('role="img" aria-labelledby="title desc"');
    expect(svg).toContain('prefers-color-scheme: dark');
  });

  it('of ratios has ours first, and the yardstick as 1', () => {
    const turns = (requestsPerSecond: number) => [
      { requestsPerSecond, p50: 1, p99: 1, serviceCpu: 1, databaseCpu: 1 },
    ];
    const measured = [
      { target: 'floor', turns: turns(200) },
      { target: 'latchkey', turns: turns(150) },
    ];
    expect(ratioBars('W1', measured, 'floor', ['floor'])).toEqual({
      heading: 'W1',
      mark: 1,
      bars: [
        { label: 'latchkey', value: 0.75, text: '0.75', own: true },
        { label: 'floor', value: 1, text: '1.00', own: false },
      ],
    });
  });
});
