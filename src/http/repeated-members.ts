import type { IncomingMessage, ServerResponse } from 'node:http';

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/gs;

/**
 * A hook of the JSON body parser: refuses what RFC 6749 §3.1 forbids of parameters, one that comes twice.
 * JSON.parse would silently take the last one, where a proxy in front may have judged the first.
 */
export function refuseRepeatedMembers(
  _request: IncomingMessage,
  _response: ServerResponse,
  body: Buffer,
  encoding: string,
): void {
  if (encoding !== 'utf-8') throw new SyntaxError('JSON is UTF-8'); // RFC 8259 §8.1
  if (hasRepeatedMember(body.toString())) throw new SyntaxError('a member comes twice');
}

/** Whether a name stands twice in the outermost object. Text that is no JSON is left to the parser. */
export function hasRepeatedMember(json: string): boolean {
  const names = new Set<string>();
  let depth = 0;
  let last = '';
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else if (token === ':' && depth === 1) {
      const name = last.includes('\\') ? decode(last) : last;
      if (names.has(name)) return true;
      names.add(name);
    }
    last = token;
  }
  return false;
}

/** `"c\u006fde"` is `"code"`. */
function decode(token: string): string {
  try {
    return JSON.stringify(JSON.parse(token));
  } catch {
    return token;
  }
}
