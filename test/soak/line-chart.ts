import type { Point } from './series.js';

/** A picture of lines over time, in panels that each have a scale of their own. */
export interface LineChart {
  readonly title: string;
  readonly panels: readonly Panel[];
}

interface Panel {
  /** With the unit, e.g. `resident memory, MiB`. */
  readonly heading: string;
  readonly lines: readonly Line[];
}

export interface Line {
  readonly label: string;
  /** Minutes and values, in the order of time; at least one. */
  readonly points: readonly Point[];
}

const [WIDTH, LEFT, RIGHT, TOP] = [720, 64, 16, 48];
const [PLOT, HEADING, LEGEND, AXIS, GAP] = [120, 20, 18, 18, 14];
const [LABEL, A_ROW] = [160, 4];
const TICKS = 3;

/** Draws it as SVG, which reads on light and dark pages alike: it has its own ground. Text is text, also for those who search. */
export function drawLines({ title, panels }: LineChart): string {
  const body: string[] = [];
  let y = TOP;
  for (const panel of panels) {
    body.push(text(16, y + 14, panel.heading, 'heading'));
    y += HEADING;
    body.push(...panel.lines.map(({ label }, i) => legend(label, i, y)));
    y += LEGEND * Math.ceil(panel.lines.length / A_ROW) + 6;
    body.push(...plot(panel.lines, y));
    y += PLOT + AXIS + GAP;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" aria-labelledby="title desc">
<title id="title">${escape(title)}</title>
<desc id="desc">${escape(panels.map(inWords).join(' '))}</desc>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${y}" class="ground"/>
${text(16, 28, title, 'title')}
${body.join('\n')}
</svg>
`;
}

/** For those who do not see it: where each line begins and ends, and between what it lies. */
function inWords({ heading, lines }: Panel): string {
  const each = lines.map(({ label, points }) => {
    const values = points.map(([, value]) => value);
    const [first, last, least, most] = [values[0]!, values.at(-1)!, Math.min(...values), Math.max(...values)];
    return `${label} from ${short(first)} to ${short(last)}, between ${short(least)} and ${short(most)}`;
  });
  return `${heading}: ${each.join('; ')}.`;
}

function legend(label: string, i: number, top: number): string {
  const [x, y] = [16 + (i % A_ROW) * LABEL, top + Math.floor(i / A_ROW) * LEGEND + 12];
  return `<line x1="${x}" x2="${x + 20}" y1="${y - 4}" y2="${y - 4}" class="line l${i}"/>${text(x + 26, y, label, 'label')}`;
}

function plot(lines: readonly Line[], top: number): string[] {
  const all = lines.flatMap(({ points }) => points);
  const longest = Math.max(...all.map(([minutes]) => minutes)) || 1;
  const step = roundStep(Math.max(...all.map(([, value]) => value)) / TICKS);
  const most = step * TICKS;
  const x = (minutes: number): number => round(LEFT + (minutes / longest) * (WIDTH - LEFT - RIGHT));
  const y = (value: number): number => round(top + PLOT * (1 - value / most));
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => i * step);
  const minutes = roundStep(longest / 6);
  const times = Array.from({ length: Math.floor(longest / minutes) + 1 }, (_, i) => i * minutes);
  return [
    ...ticks.map(
      (value) =>
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}" class="grid"/>${text(LEFT - 6, y(value) + 4, short(value), 'tick')}`,
    ),
    ...times.map((at) => text(x(at), top + PLOT + 15, at === 0 ? '0 min' : short(at), 'time')),
    ...lines.map(({ points }, i) => {
      const path = points.map(([at, value]) => `${x(at)},${y(value)}`).join(' ');
      return `<polyline points="${path}" class="line l${i}"/>`;
    }),
  ];
}

/** 1, 2 or 5 times a power of ten: the least that is not below. */
function roundStep(atLeast: number): number {
  if (!(atLeast > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= atLeast * 0.999)!;
}

// Colours that differ for the colour-blind as well (Okabe and Ito, 2008), and dashes for the second four.
const COLOURS = ['#3a48d4', '#d55e00', '#009e73', '#cc79a7'];
const DARK = ['#8b97ff', '#ff9a4d', '#3ddbae', '#f0a8cc'];
const strokes = (colours: readonly string[]): string =>
  [0, 1, 2, 3, 4, 5, 6, 7].map((i) => `.l${i} { stroke: ${colours[i % 4]} }`).join(' ');

const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 } .heading { font-weight: 600 } .label { font-size: 12px }
.tick { font-size: 11px; text-anchor: end } .time { font-size: 11px; text-anchor: middle }
.ground { fill: #ffffff } .grid { stroke: #d1d9e0 } .line { fill: none; stroke-width: 1.5 } ${strokes(COLOURS)}
.l4, .l5, .l6, .l7 { stroke-dasharray: 5 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .ground { fill: #0d1117 } .grid { stroke: #3d444d } ${strokes(DARK)}
}
`;

function text(x: number, y: number, content: string, kind: string): string {
  return `<text x="${x}" y="${y}" class="${kind}">${escape(content)}</text>`;
}

function short(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Math.round(value * 100) / 100);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
