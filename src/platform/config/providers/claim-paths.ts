import { parser, InvalidValue, text as line, type Parser } from '../settings/parsers.js';

/** Names that the access token uses itself, or its introspection (RFC 9068 §2.2). */
const OF_THE_TOKEN: ReadonlySet<string> = new Set(
  `iss sub aud exp iat nbf jti sid client_id device_id auth_time acr amr cnf scope token_type typ active claims`.split(
    ' ',
  ),
);

/** Whether a name may be a user's claim: 1 to 64 visible characters, not the token's own, no prototype. */
export function isClaimName(name: string): boolean {
  return /^\P{C}{1,64}$/u.test(name) && !OF_THE_TOKEN.has(name) && name !== '__proto__';
}

/** Splits at a character, unless it is after a backslash (docs/providers.md#paths-of-claims). */
export function splitAt(text: string, separator: string): string[] {
  const parts = [''];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (character === separator) parts.push('');
    else parts[parts.length - 1] += character === '\\' ? character + (text[++at] ?? '') : character;
  }
  return parts;
}

export function unescaped(text: string): string {
  return text.replaceAll(/\\([^])/g, '$1');
}

/** Returns the names of a path, from the outside to the inside. */
export function stepsOf(path: string): string[] {
  return splitAt(path, '.').map(unescaped);
}

/** Path of a text with several values, without its ending `[]`; undefined for another path. */
const SEVERAL = /^((?:\\[^]|[^\\])*?)\[\]$/;

/** Splits the validated setting `claims`: a claim's name, its path, whether a text there is split. */
export function claimPaths(
  setting = '',
): readonly (readonly [name: string, path: string, splits: boolean])[] {
  const pairs = splitAt(setting, ',').map((pair) => pair.trim());
  return pairs.filter((pair) => pair !== '').map(splitPair);
}

function splitPair(pair: string): [string, string, boolean] {
  const [name = '', ...others] = pair.split('=');
  const path = others.join('=').trim();
  const several = SEVERAL.exec(path)?.[1];
  return [name.trim(), several ?? path, several !== undefined];
}

export const claimsSetting: Parser<string> = parser(
  '<name>=<path> pairs separated by commas, each name once, of at most 64 characters, and none that the token uses itself (sub, exp, …)',
  (text) => {
    const pairs = claimPaths(text);
    const names = new Set<string>();
    for (const [name, path] of pairs) {
      if (!isClaimName(name) || path === '' || endsEscaping(path) || names.has(name)) {
        throw new InvalidValue(`${name}=${path}`);
      }
      names.add(name);
    }
    return pairs.length > 0 && pairs.length <= 100 ? text : undefined;
  },
);

/** Whether the last backslash has nothing after it. */
function endsEscaping(path: string): boolean {
  return path.replaceAll(/\\[^]/g, '').includes('\\');
}

/** One path: a user who can leave out the first claim of several would choose the id. */
export const idPath: Parser<string> = parser(
  'one path, or one template with a text between two claims ({tenant}:{id}); of several paths, a user without the first claim could choose the id',
  (text) => (splitAt(text, ',').length > 1 || /\}\{/.test(text) ? undefined : line.parse(text)),
);
