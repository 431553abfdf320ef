import { parser, Refused, type Parser } from '../settings/parsers.js';

/** Names that the access token uses itself, or its introspection (RFC 9068 §2.2). */
const OF_THE_TOKEN: ReadonlySet<string> = new Set(
  `iss sub aud exp iat nbf jti sid client_id device_id auth_time acr amr cnf scope token_type typ active claims`.split(
    ' ',
  ),
);

/** Whether a name may be a user's claim: 1 to 64 visible characters, and neither the token's own nor a prototype. */
export function isClaimName(name: string): boolean {
  return /^\P{C}{1,64}$/u.test(name) && !OF_THE_TOKEN.has(name) && name !== '__proto__';
}

/** Splits the setting `claims`, which was validated at the start: pairs of a claim's name and its path at the provider. */
export function claimPaths(setting = ''): readonly (readonly [name: string, path: string])[] {
  const pairs = setting.split(',').map((pair) => pair.trim());
  return pairs.filter((pair) => pair !== '').map(splitPair);
}

function splitPair(pair: string): [string, string] {
  const [name = '', ...path] = pair.split('=');
  return [name.trim(), path.join('=').trim()];
}

export const claimsSetting: Parser<string> = parser(
  '<name>=<path> pairs separated by commas, each name once, of at most 64 characters, and none that the token uses itself (sub, exp, …)',
  (text) => {
    const pairs = claimPaths(text);
    const names = new Set<string>();
    for (const [name, path] of pairs) {
      if (!isClaimName(name) || path === '' || names.has(name)) throw new Refused(`${name}=${path}`);
      names.add(name);
    }
    return pairs.length > 0 && pairs.length <= 100 ? text : undefined;
  },
);
