import { boundaryNumber, mutatedBytes, mutatedText, strangeCharacter } from './mutate.js';
import type { Random } from './random.js';

type Json = Readonly<Record<string, unknown>>;

/** A JWT as it should be, and how its owner signs. */
export interface GoodJws {
  readonly header: Json;
  readonly claims: Json;
  /** ES256 over `<header>.<claims>`. */
  readonly sign: (input: string) => Buffer;
  /** Whether its owner is a stranger, who may sign base64url that nobody should write. */
  readonly signsAnything: boolean;
}

const VALUES = [
  'null',
  '""',
  '" "',
  'true',
  '[]',
  '{}',
  '"\\u0000"',
  '"\\ud800"',
  '"__proto__"',
  '{"__proto__":{}}',
  `"${'x'.repeat(300)}"`,
];
const MEMBERS = [
  '"nonce":"n"',
  '"nonce":null',
  '"crit":["x"]',
  '"crit":["b64"],"b64":false',
  '"nbf":9e9',
  '"b64":false',
  '"__proto__":{}',
];
const WORDS = [
  '"',
  ',',
  ':',
  '{',
  '}',
  '[',
  ']',
  '\\',
  '"alg":"none"',
  '"alg":"HS256"',
  '"crit":["x"]',
  '"jwk":{}',
  '"kid":"x"',
  '"typ":"JWT"',
  '"exp":1',
  '"exp":9e9',
  '"iat":0',
  '"sub":"x"',
  '"aud":[]',
  '"iss":""',
  '"__proto__":{}',
  '"nonce":""',
  '.',
  '..',
  '=',
  '+',
  '/',
  'e30',
  'bnVsbA',
];

/** A JWT that may be good or not: changed in its JSON and signed again by its owner, in its signature, or as a text. */
export function mutatedJws(random: Random, { header, claims, sign, signsAnything }: GoodJws): string {
  const kind = random.below(10);
  let [head, body] = [JSON.stringify(header), JSON.stringify(claims)];
  if (kind < 3)
    [head, body] = random.chance(0.35)
      ? [withOtherMember(random, header), body]
      : [head, withOtherMember(random, claims)];
  else if (kind < 5)
    [head, body] = random.chance(0.4)
      ? [mutatedText(random, head, WORDS), body]
      : [head, mutatedText(random, body, WORDS)];
  else if (kind === 5) body = harmless(random, body);
  const input = `${encoded(random, head, kind === 6 && signsAnything)}.${encoded(random, body, kind === 6 && signsAnything)}`;
  const signature = sign(input);
  if (kind === 7) return `${input}.${mutatedBytes(random, signature).toString('base64url')}`;
  const token = `${input}.${encoded(random, signature, kind === 6)}`;
  return kind > 7 ? mutatedText(random, token, WORDS) : token;
}

/** A member with another value, twice, under another name, or not at all. */
function withOtherMember(random: Random, object: Json): string {
  const name = random.pick(Object.keys(object));
  const value = valueFor(random, object[name]);
  const others = Object.entries(object).map(([key, is]) => `${JSON.stringify(key)}:${JSON.stringify(is)}`);
  const mine = others.findIndex((member) => member.startsWith(`${JSON.stringify(name)}:`));
  const other = `${JSON.stringify(name)}:${value}`;
  const kind = random.below(7);
  if (kind === 0) others.splice(mine, 1);
  else if (kind === 6) others.push(random.pick(MEMBERS));
  else if (kind === 1) others.splice(random.below(others.length + 1), 0, other);
  else if (kind === 2) others[mine] = others[mine]!.replace(name, mutatedText(random, name));
  else others[mine] = other;
  return `{${others.join(',')}}`;
}

function valueFor(random: Random, value: unknown): string {
  const kind = random.below(5);
  if (kind === 0) return random.pick(VALUES);
  if (kind === 1) return JSON.stringify([value]);
  if (typeof value === 'number')
    return random.chance(0.5) ? boundaryNumber(random) : String(value + random.below(400) - 200);
  if (kind === 2) return mutatedText(random, JSON.stringify(value), WORDS);
  return typeof value === 'string' ? JSON.stringify(mutatedText(random, value)) : JSON.stringify(value);
}

/** The same object, written in another way, or with a member more. */
function harmless(random: Random, json: string): string {
  const more = random.pick(['', `,"x":${random.pick(VALUES)}`, ',"x":1e400', `,"x":"${'y'.repeat(200)}"`]);
  return `${random.pick(['', ' ', '\n', '\t'])}${json.slice(0, -1)}${more}${random.pick(['', ' ', '\r\n'])}}`;
}

/** base64url, or what readers take for it. */
function encoded(random: Random, part: string | Buffer, otherwise: boolean): string {
  const text = Buffer.from(part).toString('base64url');
  if (!otherwise) return text;
  const forms = [
    text,
    `${text}=`,
    Buffer.from(part).toString('base64'),
    `${text}A`,
    `${text.slice(0, -1)}${random.pick('ABCDEFGHwxyz0123')}`,
  ];
  const at = random.below(text.length);
  return random.pick([...forms, text.slice(0, at) + strangeCharacter(random) + text.slice(at)]);
}
