/**
 * What the text of one setting means, by the contract's §2, docs/settings.md, and the RFCs that these name. Undefined: a fault.
 * `isOpen`: they do not say whether such a text is taken; if it is, it means this.
 */
export type Reading = { readonly is: unknown; readonly isOpen: boolean } | undefined;
export type Reader = (text: string, cwd: string) => Reading;

export const sure = (is: unknown): Reading => ({ is, isOpen: false });
export const open = (is: unknown): Reading => ({ is, isOpen: true });
export const sureIf = (isSure: boolean, is: unknown): Reading => ({ is, isOpen: !isSure });

/** Node 20: `URL.canParse` forgets (src/config/parse-url.ts). */
export function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** RFC 3986 §2, §3.2: nothing that only a browser forgives. */
export const isStrict = (text: string): boolean =>
  /^(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[\da-fA-F]{2}|\[(?=[\da-fA-F:.]+\])|(?<=\[[\da-fA-F:.]+)\])+$/.test(
    text,
  );
