import { addressKey } from '../../platform/config/urls/email-address.js';
import type { User } from '../user.entity.js';

/** Characters of a key, so that any key fits into an index: UTF-16 units. */
const LONGEST_KEY = 255;

/** Words by which a user is found: those of the name come first. */
const MOST_WORDS = 12;
/** Words of a search that count: the longest ones. */
const MOST_SEARCHED = 8;

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const APOSTROPHES = /['’ʼ]/g;
/** A letter with its accents: people search without them. */
const ACCENTED = /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])\p{Mn}+/gu;

/**
 * Returns the keys of a user's words (`user_words`): each begins with another word, and the rest follows, so
 * that users with one word are in the order of their other words. A word with which another one begins has no
 * key: its prefixes are found by the longer one.
 */
export function wordKeys(username: string | null, email: string | null): string[] {
  const local = email?.replace(/@[^@]*$/, '') ?? '';
  const all = [username ?? '', local].flatMap((text) => [...wordsIn(text), ...partsIn(text)]);
  const words = longest(all).slice(0, MOST_WORDS);
  const keys = words.map((_, i) => startOf([...words.slice(i), ...words.slice(0, i)].join(' '), LONGEST_KEY));
  return [...new Set(keys)];
}

/** Returns the words of a search: a user is found if each is the beginning of a word of the user. */
export function searchedWords(text: string): string[] {
  return longest(wordsIn(text))
    .toSorted((a, b) => b.length - a.length)
    .slice(0, MOST_SEARCHED);
}

/** Whether a search for the beginnings of words, or of the whole address, finds a user. */
export function isFoundBy({ username, email, emailKey }: User, prefix: string): boolean {
  if (emailKey?.startsWith(addressKey(prefix))) return true;
  const [own, words] = [wordKeys(username, email), searchedWords(prefix)];
  return words.length > 0 && own.some((key) => words.every((word) => ` ${key}`.includes(` ${word}`)));
}

/** Apostrophes are no end of a word: `O'Brien` is found by `obrien`. Text without letters is one word. */
function wordsIn(text: string): string[] {
  const key = plainKey(text).replaceAll(APOSTROPHES, '');
  return key.match(WORD) ?? key.split(/\s+/).filter((word) => word !== '');
}

/** Returns what is behind an apostrophe, too: `O'Brien` is found by `brien`. */
function partsIn(text: string): string[] {
  return text.search(APOSTROPHES) < 0 ? [] : (plainKey(text).match(WORD) ?? []);
}

function plainKey(text: string): string {
  return searchKey(text).normalize('NFD').replaceAll(ACCENTED, '$1').normalize('NFC');
}

function longest(words: readonly string[]): string[] {
  const each = [...new Set(words)];
  return each.filter((word) => !each.some((other) => other !== word && other.startsWith(word)));
}

/**
 * Returns the key by which words of a name or an e-mail address are searched (`user_words`): without
 * differences of case, width and composition. Upper case, since lower case depends on the place in the word
 * (Greek sigma); the Turkish letters `İ` and `ı` count as `I`, as people type them. The key of a prefix is a
 * prefix of the key, unless a combining character follows.
 */
export function searchKey(text: string): string {
  const key = text.normalize('NFKC').toLowerCase().toUpperCase().replaceAll('I\u0307', 'I');
  return startOf(key, LONGEST_KEY);
}

/** Returns the begin of a text, without half a character. @param most UTF-16 units */
function startOf(text: string, most: number): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}
