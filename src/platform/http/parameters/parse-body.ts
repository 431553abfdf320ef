import { parse } from 'node:querystring';
import { OAuthError } from '../../errors/oauth-error.js';

/** Levels of a member's value (docs/realtime.md#pushing): encoders recurse, and cannot send deeper ones. */
export const DEEPEST_VALUE = 100;
const MOST_PARAMETERS = 100;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const [ARRAY, END_OF_ARRAY] = [0x5b, 0x5d];
const [OBJECT, END_OF_OBJECT] = [0x7b, 0x7d];

/** Parameters of a form: a text each, or the texts of a repeated one. */
export class Form {
  readonly [name: string]: unknown;
}

/** Returns the error for a body of another kind, or for JSON that is no object. */
export function neitherJsonNorForm(): OAuthError {
  return new OAuthError('invalid_request', 'the body must be a JSON object or a form');
}

/** Parses a JSON object or array, or a form. @param mostValues of JSON @param mostLevels of JSON */
export function parseBody(
  bytes: Buffer,
  contentType: string,
  mostValues: number,
  mostLevels = DEEPEST_VALUE + 1,
): object {
  requireUtf8(contentType);
  const isJson = /^[^;]*json/i.test(contentType);
  return isJson ? parseJson(bytes, mostValues, mostLevels) : parseForm(bytes.toString());
}

/** RFC 8259 §8.1, RFC 6749 Appendix B. */
function requireUtf8(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(contentType)?.[1];
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    throw new OAuthError('invalid_request', 'the body must be UTF-8');
  }
}

/** Parses a JSON object or array; an empty body is `{}`. Of equal members the last counts (RFC 8259 §4). */
function parseJson(bytes: Buffer, mostValues: number, mostLevels: number): object {
  checkStructure(bytes, mostValues, mostLevels);
  const text = bytes.toString();
  const json = text.startsWith('\ufeff') ? text.slice(1) : text;
  let value: unknown;
  try {
    value = json === '' ? {} : JSON.parse(json);
  } catch {} // its message quotes the body
  if (typeof value !== 'object' || value === null) {
    throw new OAuthError('invalid_request', 'the body is not valid JSON');
  }
  return value;
}

/**
 * Bounds the levels and values of JSON before `JSON.parse`, in one pass: it takes up to 6 ms for 64 KiB of
 * brackets (docs/security.md#requests). Each value but the first follows a comma or an opening bracket.
 */
function checkStructure(bytes: Buffer, mostValues: number, mostLevels: number): void {
  let [levels, values, isInText] = [0, 0, false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isInText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInText = false;
    } else if (byte === QUOTE) isInText = true;
    else if (byte === COMMA) values++;
    else if (byte === ARRAY || byte === OBJECT) {
      values++;
      levels++;
    } else if (byte === END_OF_ARRAY || byte === END_OF_OBJECT) levels--;
    if (levels > mostLevels) {
      throw new OAuthError('invalid_request', `JSON must not be nested deeper than ${mostLevels - 1}`);
    }
    if (values > mostValues) {
      throw new OAuthError('invalid_request', `JSON must not have more than ${mostValues} values`);
    }
  }
}

/** Parses a form as queries are parsed; with `qs`, a repeated parameter could have two names. */
function parseForm(text: string): Form {
  let parameters = 1;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    if (++parameters > MOST_PARAMETERS) {
      throw new OAuthError('invalid_request', `a form must not have more than ${MOST_PARAMETERS} parameters`);
    }
  }
  // Not copied: `__proto__` must stay a member like any other.
  return Object.setPrototypeOf(parse(text, '&', '=', { maxKeys: 0 }), Form.prototype) as Form;
}
