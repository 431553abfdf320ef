/**
 * How deep the value of a member may be nested (contract §3); the body around it is one level more. A deeper value can be
 * parsed and stored, but not always sent: encoders recurse.
 */
export const DEEPEST_VALUE = 100;
const DEEPEST_BODY = DEEPEST_VALUE + 1;

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];

/** What the scanner needs of a string. A test passes an object that counts the calls. */
export type JsonText = Pick<string, 'length' | 'charCodeAt' | 'slice'>;

/**
 * Faults that JSON.parse accepts and we do not:
 * - `repeated`: a name is there twice in the outermost object, or in a parameter that is an object (RFC 6749 §3.1 forbids that). JSON.parse takes the last one, but a proxy in front may have judged the first.
 * - `deep`: nested deeper than DEEPEST_VALUE.
 *
 * Text that is not JSON is left to the parser. Each character is read once, whatever the text. So there is no regular
 * expression here: one that finds strings would start again after each quotation mark.
 *
 * @param objects the members of the outermost object that are such parameters, each as JSON (`"name"`)
 */
export function faultOf(
  json: JsonText,
  objects: ReadonlySet<string> = new Set(),
): 'repeated' | 'deep' | undefined {
  const names = new Set<string>();
  const innerNames = new Set<string>();
  let depth = 0;
  let inParameter = false; // whether what is read at depth 2 are members of a parameter
  let name: string | undefined; // the last string where there may be names
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(json, at);
        if (depth === 1 || (depth === 2 && inParameter)) name = json.slice(at, end);
        at = end - 1;
        break;
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (++depth > DEEPEST_BODY) return 'deep';
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth--;
        break;
      case COLON: {
        if (depth > 2 || name === undefined) break;
        const known = depth === 1 ? names : innerNames;
        name = decode(name);
        if (known.has(name)) return 'repeated';
        known.add(name);
        if (depth === 1) {
          inParameter = objects.has(name);
          innerNames.clear();
        }
        name = undefined;
      }
    }
  }
  return undefined;
}

/** Where the string that begins at `start` ends: after its closing quotation mark, or at the end of the text. */
function endOfString(json: JsonText, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at++;
  }
  return json.length;
}

/** `"c\u006fde"` is `"code"`. */
function decode(string: string): string {
  if (!string.includes('\\')) return string;
  try {
    return JSON.stringify(JSON.parse(string));
  } catch {
    return string;
  }
}
