import { OAuthError } from '../../errors/oauth-error.js';

/** Levels of a member's value, below the object of the body. Encoders recurse: a deeper value could be stored, but not sent. */
const DEEPEST_VALUE = 100;
/** Objects and lists, and members of objects: parsing 64 KiB of them takes up to ten times as long as other JSON. */
const MOST_CONTAINERS = 2000;
const MOST_MEMBERS = 4000;
/** Digits of an integer that is exact in any case. */
const SAFE_DIGITS = 15;

/**
 * Refuses JSON that would be slow to parse, or that has a number which would change in silence. Takes linear time; the syntax is
 * left to JSON.parse.
 * @throws OAuthError `invalid_request`
 */
export function checkJson(json: string): void {
  let depth = 0;
  let containers = 0;
  let members = 0;
  for (let i = 0; i < json.length; i++) {
    switch (json[i]) {
      case '"':
        i = endOfText(json, i);
        break;
      case '{':
      case '[':
        if (++depth > DEEPEST_VALUE + 1)
          throw refusal(`JSON must not be nested deeper than ${DEEPEST_VALUE}`);
        if (++containers > MOST_CONTAINERS)
          throw refusal(`JSON must not have more than ${MOST_CONTAINERS} objects and lists`);
        break;
      case '}':
      case ']':
        depth--;
        break;
      case ':':
        if (++members > MOST_MEMBERS) throw refusal(`JSON must not have more than ${MOST_MEMBERS} members`);
        break;
      default:
        if (isOfNumber(json.charCodeAt(i))) {
          const begin = i;
          let hasExponent = false;
          for (; isOfNumber(json.charCodeAt(i + 1)); i++) hasExponent ||= /[eE]/.test(json[i + 1]!);
          if (hasExponent || i - begin >= SAFE_DIGITS) checkNumber(json.slice(begin, i + 1));
        }
    }
  }
}

/** Position of the quotation mark that ends a text. */
function endOfText(json: string, begin: number): number {
  for (let i = begin + 1; i < json.length; i++) {
    if (json[i] === '\\') i++;
    else if (json[i] === '"') return i;
  }
  return json.length;
}

/** Digits, signs, the point and the exponent; also letters of words that JSON does not have. */
function isOfNumber(code: number): boolean {
  return (
    (code >= 48 && code <= 57) || code === 45 || code === 46 || code === 43 || code === 69 || code === 101
  );
}

/** JavaScript has 53 bits for an integer, and no number above 1.8e308. */
function checkNumber(text: string): void {
  const value = Number(text);
  if (Number.isNaN(value)) return; // JSON.parse refuses it
  const isExact = Number.isFinite(value) && (!/^-?\d+$/.test(text) || BigInt(text) === BigInt(value));
  if (!isExact) throw refusal('a number in the JSON is too large to stay exact: send it as text');
}

function refusal(message: string): OAuthError {
  return new OAuthError('invalid_request', message);
}
