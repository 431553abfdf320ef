import { parse } from 'node:querystring';

/** The parameters of a form: each a text, or the texts of one that comes again. The class tells them from a JSON object. */
export class Form {
  readonly [name: string]: unknown;
}

/**
 * Reads a form (RFC 6749 Appendix B) as queries are read: a name ends at the first `=`. To `qs`, which body-parser asks, it may
 * end at a `]=` in the value, so that a parameter that comes twice would have two names.
 */
export function readForm(text: string): Form {
  // Not copied: `__proto__` is a name like any other, and must stay a member.
  return Object.setPrototypeOf(parse(text, '&', '=', { maxKeys: 0 }), Form.prototype) as Form;
}
