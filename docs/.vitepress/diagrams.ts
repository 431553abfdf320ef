import type { MarkdownRenderer } from 'vitepress';

const ARROW = /^\s*(\S+?)\s*(?:-->>|->>|-->)\s*(\S+?): (.+)$/;
const NAME = /^\s*participant (\S+) as (.+)$/;

/**
 * Mermaid's diagrams, which GitHub draws, as tables: who, what, to whom. A library that draws them in the browser
 * weighs more than all the rest of the site. What has no words at its arrows stays the code that it is.
 */
export function diagramsAsTables(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence!;
  md.renderer.rules.fence = (...given) => {
    const { info, content } = given[0][given[1]]!;
    return (info.trim() === 'mermaid' && tableOf(content, md.utils.escapeHtml)) || fence(...given);
  };
}

function tableOf(diagram: string, escape: (text: string) => string): string | undefined {
  const lines = diagram.split('\n');
  const names = new Map(namesOf(lines));
  const arrows = lines.flatMap((line) => {
    const [, from, to, what] = ARROW.exec(line) ?? [];
    return from ? [[names.get(from) ?? from, what!, names.get(to!) ?? to!]] : [];
  });
  if (arrows.length === 0) return undefined;
  const rows = arrows.map(([from, what, to]) => [
    from === '[*]' ? 'start' : from!,
    what!,
    to === '[*]' ? 'end' : to!,
  ]);
  const cells = (row: string[]): string => row.map((cell) => `<td>${escape(cell)}</td>`).join('');
  const body = rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n');
  return `<table v-pre tabindex="0" class="diagram"><thead><tr><th>From</th><th>What</th><th>To</th></tr></thead><tbody>${body}</tbody></table>\n`;
}

const namesOf = (lines: string[]): [string, string][] =>
  lines.flatMap((line): [string, string][] => {
    const [, short, long] = NAME.exec(line) ?? [];
    return short ? [[short, long!]] : [];
  });
