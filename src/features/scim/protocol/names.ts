import { GROUP_ATTRIBUTES, GROUP_SCHEMA, USER_ATTRIBUTES, USER_SCHEMA } from './schemas.js';

export type ResourceKind = 'User' | 'Group';

type Names = ReadonlyMap<string, { readonly name: string; readonly sub: ReadonlyMap<string, string> }>;

/** The attributes of each kind by their names in lower case (RFC 7643 §2.1: names have no case). */
const NAMES: Readonly<Record<ResourceKind, Names>> = {
  User: namesOf(USER_ATTRIBUTES),
  Group: namesOf(GROUP_ATTRIBUTES),
};

const SCHEMAS = { User: USER_SCHEMA, Group: GROUP_SCHEMA };

/** Common attributes (RFC 7643 §3.1), and the attribute of every message. */
const COMMON = new Map(['id', 'schemas', 'meta'].map((name) => [name, name]));

function namesOf(
  attributes: Readonly<Record<string, { readonly description: string; readonly sub?: object }>>,
): Names {
  const entries = Object.entries(attributes).map(([name, { sub = {} }]) => {
    const subs = Object.keys(sub).map((one) => [one.toLowerCase(), one] as const);
    return [name.toLowerCase(), { name, sub: new Map(subs) }] as const;
  });
  return new Map(entries);
}

/** An attribute, or a part of it. */
export interface AttributeName {
  readonly name: string;
  readonly sub?: string | undefined;
}

/**
 * Returns an attribute as the schema spells it; undefined if it is not kept.
 * @param text without a value filter: `userName`, `name.givenName`, `urn:…:User:userName`
 */
export function attributeNamed(kind: ResourceKind, text: string): AttributeName | undefined {
  const schema = SCHEMAS[kind];
  const prefix = text.slice(0, schema.length + 1).toLowerCase();
  const own = prefix === `${schema}:`.toLowerCase() ? text.slice(schema.length + 1) : text;
  const [root = '', sub, ...others] = own.toLowerCase().split('.');
  const attribute = NAMES[kind].get(root);
  if (!attribute) {
    const common = COMMON.get(root);
    return common === undefined || sub !== undefined ? undefined : { name: common };
  }
  if (sub === undefined) return { name: attribute.name };
  const part = others.length === 0 ? attribute.sub.get(sub) : undefined;
  return part === undefined ? undefined : { name: attribute.name, sub: part };
}
