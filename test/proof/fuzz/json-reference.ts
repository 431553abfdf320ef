export interface JsonRead {
  readonly value: unknown;
  /** Objects and arrays in each other. */
  readonly deepest: number;
  /** Whether a name comes twice in the outermost object, or in a member of it that is a parameter with members. */
  readonly isRepeated: boolean;
}

/**
 * Reads a text by RFC 8259 §2 to §7, written from it alone.
 *
 * @param parameters names of members of the outermost object none of whose own members may come twice
 * @returns undefined for what is not JSON
 */
export function jsonByTheBook(text: string, parameters: readonly string[]): JsonRead | undefined {
  let at = 0;
  let deepest = 0;
  let isRepeated = false;

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

  function object(depth: number, isParameter: boolean): object {
    const members: Record<string, unknown> = {};
    for (let isFirst = true; ; isFirst = false) {
      blank();
      if (isFirst && is('}')) return members;
      const name = string();
      blank();
      take(/:/y);
      if ((depth === 1 || isParameter) && Object.hasOwn(members, name)) isRepeated = true;
      const value = element(depth, depth === 1 && parameters.includes(name));
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
      elements.push(element(depth, false));
      if (is(']')) return elements;
      take(/,/y);
    }
  }

  function element(depth: number, isParameter: boolean): unknown {
    blank();
    const value = valueAt(depth, isParameter);
    blank();
    return value;
  }

  function valueAt(depth: number, isParameter: boolean): unknown {
    if (text[at] === '"') return string();
    if (text[at] === '{' || text[at] === '[') deepest = Math.max(deepest, depth + 1);
    if (is('{')) return object(depth + 1, isParameter);
    if (is('[')) return array(depth + 1);
    const word = take(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    return word === 'null' ? null : word === 'true' ? true : word === 'false' ? false : Number(word);
  }

  try {
    const value = element(0, false);
    return at === text.length ? { value, deepest, isRepeated } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
