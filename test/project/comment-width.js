#!/usr/bin/env node
// Checks that no comment in src/ is wider than the code, which oxfmt breaks; `--write` wraps such comments. `npm run check` runs it.
// Arguments: folders or files instead of src/.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import ts from 'typescript';

/** Folders whose names and comments are not checked yet. */
export const LATER = ['lab'];

export const isIn = (file, places) => places.some((place) => file === place || file.startsWith(`${place}/`));

/** Files of folders, also before `git add`. */
export const listFiles = (...places) =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...places], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && existsSync(file));

const WIDTH = 110;
/** A comment for a tool, or an address: one line. */
const UNBREAKABLE = /^(?:oxlint-|@ts-|oxfmt-ignore|knip-|https?:\/\/\S+$)/;
/** Begins a paragraph: a tag, or an entry of a list. */
const BEGINS = /^(?:@\w+|- |\d+\. |\||```)/;

/** Wraps words, with `hang` before all lines but the first. Numbers of clauses and RFCs stay beside their names. */
function wrap(text, width, hang = '') {
  const words = text
    .replaceAll(/(\bRFC|\bspec|\bCore|\bNode|\d) (?=[§\d])|(?<=\S) (?=§)/g, '$1\u00a0')
    .split(/ +/);
  const lines = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] += ` ${word}`;
    else lines.push(line === undefined ? word : hang + word);
  }
  return lines.map((line) => line.replaceAll('\u00a0', ' '));
}

/** Wraps the paragraphs that have a line beyond the width. @param lines text without the comment's marks */
function wrapParagraphs(lines, width) {
  const paragraphs = [];
  for (const line of lines) {
    const isNew = line.trim() === '' || BEGINS.test(line.trim()) || UNBREAKABLE.test(line.trim());
    const before = paragraphs.at(-1)?.at(-1);
    if (isNew || before === undefined || before.trim() === '' || UNBREAKABLE.test(before.trim()))
      paragraphs.push([line]);
    else paragraphs.at(-1).push(line);
  }
  return paragraphs.flatMap((paragraph) => {
    const [first, second] = paragraph;
    if (paragraph.every((line) => line.length <= width) || UNBREAKABLE.test(first)) return paragraph;
    const indent = /^ */.exec(first)[0];
    const usual = BEGINS.test(first.trim()) ? `${indent}  ` : indent;
    const hang = second === undefined ? usual : /^ */.exec(second)[0];
    return wrap(
      paragraph.map((line) => line.trim()).join(' '),
      width - indent.length,
      hang.slice(indent.length),
    ).map((line) => indent + line);
  });
}

function wrapBlock(text, indent) {
  const width = WIDTH - indent.length - 3;
  const body = text.replace(/^\/\*\*? ?/, '').replace(/\s*\*\/$/, '');
  const lines = body
    .split('\n')
    .flatMap((line) => line.replace(/^\s*\* ?/, '').split(/(?<=\S) (?=@(?:param|returns|throws|see)\b)/));
  const isEmpty = lines[0].trim() === '';
  const wrapped = wrapParagraphs(isEmpty ? lines.slice(1) : lines, width);
  const open = text.startsWith('/**') ? '/**' : '/*';
  return [open, ...wrapped.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join('\n');
}

/** Comments of a source, as positions. */
function commentsOf(source, text) {
  const found = new Map();
  const visit = (node) => {
    for (const range of ts.getLeadingCommentRanges(text, node.pos) ?? []) found.set(range.pos, range);
    for (const range of ts.getTrailingCommentRanges(text, node.end) ?? []) found.set(range.pos, range);
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  return [...found.values()].toSorted((a, b) => a.pos - b.pos);
}

function wrapFile(file) {
  const text = readFileSync(file, 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const edits = [];
  const lines = []; // consecutive comments of a line each
  const flush = () => {
    if (lines.some(({ end, begin }) => end - begin > WIDTH)) {
      const { begin, indent } = lines[0];
      const wrapped = wrapParagraphs(
        lines.map(({ content }) => content),
        WIDTH - indent.length - 3,
      );
      edits.push([begin, lines.at(-1).end, wrapped.map((line) => `${indent}// ${line}`).join('\n')]);
    }
    lines.length = 0;
  };
  for (const { pos, end, kind } of commentsOf(source, text)) {
    const begin = text.lastIndexOf('\n', pos) + 1;
    const before = text.slice(begin, pos);
    const isAlone = before.trim() === '';
    if (kind === ts.SyntaxKind.SingleLineCommentTrivia && isAlone) {
      if (lines.length > 0 && lines.at(-1).end + 1 !== begin) flush();
      lines.push({ begin, end, indent: before, content: text.slice(pos + 2, end).replace(/^ /, '') });
      continue;
    }
    flush();
    if (kind === ts.SyntaxKind.SingleLineCommentTrivia) {
      if (end - begin <= WIDTH) continue;
      const indent = /^\s*/.exec(before)[0];
      const above = wrap(text.slice(pos + 2, end).trim(), WIDTH - indent.length - 3);
      edits.push([begin, end, [...above.map((line) => `${indent}// ${line}`), before.trimEnd()].join('\n')]);
    } else if (
      isAlone &&
      text
        .slice(begin, end)
        .split('\n')
        .some((line) => line.length > WIDTH)
    ) {
      edits.push([pos, end, wrapBlock(text.slice(pos, end), before)]);
    }
  }
  flush();
  return edits.reduceRight((result, [from, to, by]) => result.slice(0, from) + by + result.slice(to), text);
}

const places = process.argv.slice(2).filter((one) => one !== '--write');
const files = listFiles(...(places.length > 0 ? places : ['src'])).filter(
  (file) => /\.tsx?$/.test(file) && (places.length > 0 || !isIn(file, LATER)),
);
const isWriting = process.argv.includes('--write');
for (const file of files) {
  const wrapped = wrapFile(file);
  if (wrapped === readFileSync(file, 'utf8')) continue;
  if (isWriting) writeFileSync(file, wrapped);
  else {
    process.exitCode = 1;
    console.error(`${file} has comments beyond ${WIDTH} columns: node test/project/comment-width.js --write`);
  }
}
