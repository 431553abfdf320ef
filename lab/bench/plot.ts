import { writeFileSync } from 'node:fs';
import { readResults, type Footprint } from './peers/results.js';

const FILE = 'docs/pictures/benchmark.svg';
const NAMES: Readonly<Record<string, string>> = {
  latchkey: 'Latchkey',
  keycloak: 'Keycloak',
  hydra: 'Ory Hydra',
  'node-oidc-provider': 'oidc-provider',
  centrifugo: 'Centrifugo',
  'socket.io': 'Socket.IO',
};
// Pixels.
const WIDTH = 830;
const COLUMNS = 3;
const GAP = 26;
const PANEL = (WIDTH - GAP * (COLUMNS - 1)) / COLUMNS;
const NAME = 92;
const VALUE = 50;
const LONGEST = PANEL - NAME - VALUE;
const HEAD = 50;
const ROW = 22;
const BAR = 14;

interface Bar {
  readonly target: string;
  readonly value: number;
}

interface Panel {
  readonly title: string;
  readonly unit: string;
  /** Best first. */
  readonly bars: readonly Bar[];
}

const results = readResults();
const panels = [
  speed('Refresh', 'refresh', 64, 'connections'),
  speed('Whole sign-in', 'whole sign-in', 64, 'connections'),
  speed('Introspection', 'introspection', 64, 'connections'),
  speed('Messages to sockets', 'socket message', 2000, 'sockets'),
  need('Idle memory', 'MiB', 'idleMiB'),
  need('Start', 'seconds', 'startSeconds'),
].filter(({ bars }) => bars.length > 0);
if (panels.length === 0) throw new Error('No results: run `npm run bench -- --peers` first.');
writeFileSync(FILE, draw(panels));
console.log(FILE);

function speed(title: string, operation: string, count: number, what: string): Panel {
  const bars = results.flatMap((row) =>
    'operation' in row && row.operation === operation && row.connections === count
      ? [{ target: row.target, value: row.requestsPerSecond }]
      : [],
  );
  const unit = `a second, ${count.toLocaleString('en')} ${what}`;
  return { title, unit, bars: bars.toSorted((a, b) => b.value - a.value) };
}

function need(title: string, unit: string, figure: Exclude<keyof Footprint, 'target'>): Panel {
  const bars = results.flatMap((row) =>
    'operation' in row ? [] : [{ target: row.target, value: row[figure] }],
  );
  return { title, unit: `${unit}, less is better`, bars: bars.toSorted((a, b) => a.value - b.value) };
}

function draw(all: readonly Panel[]): string {
  const lines: string[] = [];
  let top = 0;
  for (let n = 0; n < all.length; n += COLUMNS) {
    const row = all.slice(n, n + COLUMNS);
    row.forEach((panel, column) => lines.push(...drawPanel(panel, column * (PANEL + GAP), top)));
    top += HEAD + ROW * Math.max(...row.map(({ bars }) => bars.length)) + GAP;
  }
  const names = 'Latchkey beside other services: speed, idle memory and time to start';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top - GAP}" role="img" aria-label="${names}">
<style>
text { font: 13px system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif; fill: #5a6271; }
.title { font-size: 15px; font-weight: 600; fill: #171a21; }
.own { font-weight: 600; fill: #171a21; }
rect { fill: #c3c9d4; }
rect.own { fill: #3a48d4; }
@media (prefers-color-scheme: dark) {
  text { fill: #a3acbb; }
  text.title, text.own { fill: #f0f2f6; }
  rect { fill: #454c59; }
  rect.own { fill: #8c97ff; }
}
</style>
${lines.join('\n')}
</svg>
`;
}

function drawPanel({ title, unit, bars }: Panel, left: number, top: number): string[] {
  const most = Math.max(...bars.map(({ value }) => value));
  const text = (kind: string, x: number, y: number, content: string): string =>
    `<text class="${kind}" x="${x.toFixed(1)}" y="${y}">${content}</text>`;
  return [
    text('title', left, top + 16, title),
    text('unit', left, top + 35, unit),
    ...bars.flatMap(({ target, value }, n) => {
      const y = top + HEAD + n * ROW;
      const length = Math.max(2, (value / most) * LONGEST);
      const kind = target === 'latchkey' ? 'own' : 'other';
      const figure = value.toLocaleString('en', { maximumSignificantDigits: 3 });
      return [
        text(kind, left, y + 12, NAMES[target] ?? target),
        `<rect class="${kind}" x="${(left + NAME).toFixed(1)}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="2"/>`,
        text(kind, left + NAME + length + 6, y + 12, figure),
      ];
    }),
  ];
}
