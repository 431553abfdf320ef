#!/usr/bin/env node
// Checks the language of comments, documents and names (CONTRIBUTING.md, Habits). `npm run check` runs it, and exits with 1 for
// - the hard constructions of a folder with more than 3 in 1,000 words,
// - sentences of documents with more than 30 words,
// - declared names with a word of NAMES,
// - lines of comments and code beyond 110 columns, which oxfmt does not break.
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import ts from 'typescript';
import { isIn, LATER, listFiles } from './comment-width.js'; // which checks the width of comments

const MAX_PER_1000 = 3;
const MAX_SENTENCE = 30;
const FOLDERS = ['src', 'packages', 'test', 'lab', 'docs', 'demo', 'openapi', 'examples'];
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

/** What to write instead, by what is hard to read. */
const CONSTRUCTIONS = [
  [/\bwhere (?:it|there|they|that|one|an?|the|this|nothing|none|some|many|no|we|each|both)\b/gi, 'if'],
  [/\bthe same\b/gi, 'name the thing'],
  [/\b(?:told|tells?)\b/gi, 'notify, report'],
  [/\b(?:no|some|any|every)body\b/gi, 'name the client, the user or the program'],
  [/\b(?:who|what|which|whom)ever\b/gi, 'name the subject'],
  [/\bthose (?:that|who|whose|of|which|are)\b/gi, 'repeat the noun'],
  [/\b(?:whose|of which|of whom)\b/gi, 'with, of the …'],
  [/\b(?:of (?:its|their|our|his) own|by (?:itself|themselves))\b/gi, 'separate, automatically'],
  [/\bgo(?:es|ing)? on\b|\bwent on\b/gi, 'continue'],
  [/\bmeanwhile\b/gi, 'while …'],
  [/\bjudg\w+/gi, 'validate'],
  [/\b(?:is|are|was|were) there\b/gi, 'exists'],
];

/** Words that say too little in a name, with better ones. */
const NAMES = new Map(
  Object.entries({
    'requested, request, query, sentAt': 'asked',
    'slot, tick, queue, round': 'turn turns',
    'stored, cached, accepted': 'kept',
    'saved, found, opened, locked': 'held',
    'the thing: options, parts, source, configured': 'given',
    'notified, reported': 'told',
    apply: 'obey obeys obeyed',
    'outside, separate': 'apart',
    timeout: 'patience patient patiently',
    batched: 'together',
  }).flatMap(([instead, words]) => words.split(' ').map((word) => [word, instead])),
);
/** Whole names that misled. */
const MISLEADING = new Set(['SINGLE', 'Written', 'withoutSecret']);

/** Returns the text of comments, or of a document without its code, one entry a line. */
function proseOf(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  let inside = false;
  if (extname(file) === '.md') {
    return lines.map((line) => {
      const isFence = /^\s*(?:```|~~~)/.test(line);
      if (isFence) inside = !inside;
      return inside || isFence ? '' : withoutCode(line);
    });
  }
  return lines.map((line) => {
    const text = line.trim();
    if (inside || text.startsWith('/*')) {
      inside = !text.includes('*/');
      return withoutCode(text);
    }
    return withoutCode(/(?:^|(?<!["'`:])\s)\/\/\s(.*)$/.exec(line)?.[1] ?? '');
  });
}

const withoutCode = (text) => text.replaceAll(/`[^`]*`/g, ' ');

/** @returns its number of words, and the places of hard constructions */
function check(files) {
  let words = 0;
  const places = files.flatMap((file) =>
    proseOf(file).flatMap((line, index) => {
      words += line.match(/[\p{L}\d][\p{L}\d'’-]*/gu)?.length ?? 0;
      return CONSTRUCTIONS.flatMap(([pattern, instead]) =>
        [...line.matchAll(pattern)].map(([found]) => `  ${file}:${index + 1}: "${found}" (${instead})`),
      );
    }),
  );
  return { words, places };
}

const prose = listFiles(...FOLDERS, ...PAGES).filter(
  (file) => /\.(?:[cm]?[jt]sx?|md)$/.test(file) && file !== 'test/project/plain-english.js',
);
for (const place of [...FOLDERS, ...PAGES]) {
  const { words, places } = check(prose.filter((file) => file === place || file.startsWith(`${place}/`)));
  if (places.length * 1000 <= MAX_PER_1000 * words) continue;
  process.exitCode = 1;
  console.error(`${place}: ${places.length} in ${words} words are hard to read:\n${places.join('\n')}`);
}

/** Sentences with more than 30 words: a sentence ends with a paragraph, a list item, or a cell of a table, too. */
function longSentences(file) {
  const blocks = [];
  let begins = true;
  proseOf(file).forEach((line, index) => {
    const text = line.replaceAll(/\]\([^)]*\)|<[^>]*>/g, ' ').trim();
    if (/^[|]/.test(text)) blocks.push(...text.split('|').map((cell) => ({ line: index + 1, text: cell })));
    else if (begins || /^(?:[-*>#]|\d+\.) /.test(text)) blocks.push({ line: index + 1, text });
    else blocks.at(-1).text += ` ${text}`;
    begins = text === '' || text.startsWith('|') || text.startsWith('#');
  });
  return blocks.flatMap(({ line, text }) =>
    text
      .split(/[.?!:]["”’)*_]*\s/)
      .map((sentence) => sentence.match(/[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu) ?? [])
      .filter((words) => words.length > MAX_SENTENCE)
      .map((words) => `  ${file}:${line}: ${words.length} words: ${words.slice(0, 8).join(' ')} …`),
  );
}

const long = listFiles('*.md').flatMap(longSentences);
if (long.length > 0) {
  process.exitCode = 1;
  console.error(`sentences of more than ${MAX_SENTENCE} words:\n${long.join('\n')}`);
}

/** Places of declared names with a word of NAMES. Names of an interface (`claims_kept`) and of foreign objects are not ours. */
function hardNames(file) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const places = [];
  const visit = (node) => {
    const name = node.name && ts.isIdentifier(node.name) ? node.name.text : '';
    const isUse = ts.isPropertyAccessExpression(node) || ts.isPropertyAssignment(node);
    const isOurs = !isUse && (!name.includes('_') || name === name.toUpperCase());
    const words = name.split(/_|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
    const word = words.find((one) => NAMES.has(one));
    if (isOurs && (word || MISLEADING.has(name))) {
      const line = source.getLineAndCharacterOfPosition(node.name.pos).line + 1;
      places.push(`  ${file}:${line}: ${name} (${NAMES.get(word) ?? 'what it means'})`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return places;
}

const sources = listFiles('src', 'packages', 'admin', 'lab').filter((file) => /\.[cm]?[jt]sx?$/.test(file));
const names = sources.filter((file) => !isIn(file, LATER)).flatMap(hardNames);
if (names.length > 0) {
  process.exitCode = 1;
  console.error(`names that say too little:\n${names.join('\n')}`);
}
