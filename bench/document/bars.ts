/** A picture of bars, in groups that each have a scale of their own. */
export interface BarChart {
  readonly title: string;
  readonly groups: readonly BarGroup[];
}

export interface BarGroup {
  readonly heading: string;
  readonly bars: readonly Bar[];
  /** What all are compared with: a line across the bars. */
  readonly mark?: number;
}

interface Bar {
  readonly label: string;
  /** 0 or more. */
  readonly value: number;
  /** The figure, as it is written beside the bar. */
  readonly text: string;
  /** Whether it is ours. */
  readonly own?: boolean;
}

const [WIDTH, LABELS, FIGURES] = [720, 190, 90];
const [TOP, LINE, BAR, GAP] = [48, 20, 14, 14];

/** Draws it as SVG, which reads on light and dark pages alike: it has its own ground. Text is text, also for those who search. */
export function drawBars({ title, groups }: BarChart): string {
  const body: string[] = [];
  let y = TOP;
  for (const group of groups) {
    body.push(text(16, y + 14, group.heading, 'heading'));
    y += LINE + 4;
    const scale = (WIDTH - LABELS - FIGURES) / largest(group);
    const top = y;
    for (const { label, value, text: figure, own = false } of group.bars) {
      body.push(
        text(LABELS - 8, y + 12, label, own ? 'label own' : 'label'),
        `<rect x="${LABELS}" y="${y}" width="${round(value * scale)}" height="${BAR}" class="${own ? 'bar own' : 'bar'}"/>`,
        text(LABELS + round(value * scale) + 6, y + 12, figure, 'figure'),
      );
      y += LINE;
    }
    if (group.mark !== undefined) {
      const x = LABELS + round(group.mark * scale);
      body.push(`<line x1="${x}" x2="${x}" y1="${top - 3}" y2="${y - 3}" class="mark"/>`);
    }
    y += GAP;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" aria-labelledby="title desc">
<title id="title">${escape(title)}</title>
<desc id="desc">${escape(groups.map(inWords).join(' '))}</desc>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${y}" class="ground"/>
${text(16, 28, title, 'title')}
${body.join('\n')}
</svg>
`;
}

/** For those who do not see it. */
function inWords({ heading, bars }: BarGroup): string {
  return `${heading}: ${bars.map(({ label, text: figure }) => `${label} ${figure}`).join(', ')}.`;
}

const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 } .heading { font-weight: 600 } .label { text-anchor: end } .own { font-weight: 600 }
.ground { fill: #ffffff } .bar { fill: #8c959f } .bar.own { fill: #3a48d4 } .mark { stroke: #1f2328; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .ground { fill: #0d1117 } .bar { fill: #6e7681 } .bar.own { fill: #8b97ff } .mark { stroke: #e6edf3 }
}
`;

function largest({ bars, mark = 0 }: BarGroup): number {
  return Math.max(mark, ...bars.map(({ value }) => value)) || 1;
}

function text(x: number, y: number, content: string, kind: string): string {
  return `<text x="${x}" y="${y}" class="${kind}">${escape(content)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
