import { isObject } from '../../platform/http/parameters/json.js';

/** List of roles or groups in a provider's answer: its texts, and why others are not taken. */
export interface TextList {
  readonly texts: readonly string[];
  readonly why?: string;
}

/** Members that only describe an entry. Another may restrict it: to one tenant, or as not active. */
const DESCRIBING: ReadonlySet<string> = new Set(
  'id value name display displayName display_name description type primary $ref'.split(' '),
);

/**
 * Returns the texts of a list as products send them: one text or number, a list of texts, numbers or objects
 * (RFC 7643 §2.4: `value`; else `name`, `display`), an object with names as keys (ZITADEL), a PHP list as an
 * object.
 */
export function textsIn(value: unknown): TextList {
  if (typeof value === 'string' && /[,;\s]/.test(value)) {
    return {
      texts: [value],
      why: 'is one text with separators, and counts as one value: end its path with [] to split it',
    };
  }
  if (isObject(value)) return textsInObject(value);
  const entries = (Array.isArray(value) ? value : [value]) as readonly unknown[];
  const texts = entries.map(textOfEntry).filter((text) => text !== undefined);
  const others = entries.filter((entry) => entry !== null).length - texts.length;
  if (others === 0) return { texts };
  const count = entries.length > 1 ? `has ${others} of ${entries.length} entries that are` : 'is';
  return { texts, why: `${count} no list of texts: let its path name the member (roles.name)` };
}

function textsInObject(value: Readonly<Record<string, unknown>>): TextList {
  const text = textOfEntry(value);
  if (text !== undefined) return { texts: [text] };
  const members = Object.entries(value);
  const values = members.map(([, member]) => textOfSingle(member));
  const isList = members.every(([key]) => /^\d+$/.test(key)) && values.every((one) => one !== undefined);
  if (isList) return { texts: values.filter((one) => one !== undefined) };
  if (members.every(([, member]) => isMark(member))) {
    return { texts: members.filter(([, member]) => member).map(([key]) => key) };
  }
  return { texts: [], why: 'is no list of texts, but an object: let its path name the member' };
}

/** Whether a key with this value is a name, or explicitly none; ZITADEL: organizations that gave the role. */
function isMark(value: unknown): boolean {
  const isOfTexts = isObject(value) && Object.values(value).every((one) => typeof one === 'string');
  return isOfTexts || typeof value === 'boolean' || value === null;
}

function textOfEntry(entry: unknown): string | undefined {
  if (!isObject(entry)) return textOfSingle(entry);
  if (!Object.keys(entry).every((name) => DESCRIBING.has(name))) return undefined;
  return [entry['value'], entry['name'], entry['display']]
    .map(textOfSingle)
    .find((text) => text !== undefined);
}

function textOfSingle(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}
