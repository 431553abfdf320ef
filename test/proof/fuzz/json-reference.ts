export interface JsonRead {
  readonly value: unknown;
  /** Objects and arrays in each other. */
  readonly deepest: number;
}

/**
 * Reads a text by RFC 8259 §2 to §7, written from it alone. Of equal members the last counts.
 *
 * @returns undefined for what is not JSON
 */
export function jsonByTheBook(text: string): JsonRead | undefined {
  let at = 0;
  let deepest = 0;

  const take = (form: RegExp): string => {
    form.lastIndex = at;
    const found = form.exec(text)?.[0];
    if (found === undefined) throw new SyntaxError(`at ${at}`);
    at += found.length;
    return found;
  };
  const is = (char: string): boolean => (text[at] === char ? ++at > 0 : false);
  const blank = (): unknown => take(/[ \t\n\r]*/y);

  function string(): string {
    // oxlint-disable-next-line no-control-regex -- RFC 8259 §7 names them
    const raw = take(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y);
    const letters: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
    return raw
      .slice(1, -1)
      .replace(/\\(u(....)|.)/g, (_all, one: string, hex?: string) =>
        hex ? String.fromCharCode(Number.parseInt(hex, 16)) : (letters[one] ?? one),
      );
  }

  function object(depth: number): object {
    const members: Record<string, unknown> = {};
    for (let isFirst = true; ; isFirst = false) {
      blank();
      if (isFirst && is('}')) return members;
      const name = string();
      blank();
      take(/:/y);
      const value = element(depth);
      Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
      if (is('}')) return members;
      take(/,/y);
    }
  }

  function array(depth: number): unknown[] {
    const elements: unknown[] = [];
    blank();
    if (is(']')) return elements;
    for (;;) {
      elements.push(element(depth));
      if (is(']')) return elements;
      take(/,/y);
    }
  }

  function element(depth: number): unknown {
    blank();
    const value = valueAt(depth);
    blank();
    return value;
  }

  function valueAt(depth: number): unknown {
    if (text[at] === '"') return string();
    if (text[at] === '{' || text[at] === '[') deepest = Math.max(deepest, depth + 1);
    if (is('{')) return object(depth + 1);
    if (is('[')) return array(depth + 1);
    const word = take(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    return word === 'null' ? null : word === 'true' ? true : word === 'false' ? false : Number(word);
  }

  try {
    const value = element(0);
    return at === text.length ? { value, deepest } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
