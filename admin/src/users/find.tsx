import type { ReactNode } from 'react';

/** Rows from which a list has a search. */
const MANY = 10;

/** A search among the rows of a list that are loaded; short lists have none. */
export function Find({
  label,
  count,
  text,
  setText,
}: {
  label: string;
  count: number;
  text: string;
  setText: (text: string) => void;
}): ReactNode {
  if (count <= MANY && text === '') return null;
  return (
    <input
      type="search"
      className="find"
      aria-label={label}
      placeholder="Name, browser, system, address or id"
      value={text}
      onChange={({ target }) => setText(target.value)}
      maxLength={255}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

/** Whether each word of a search is in one of the values, in any case. */
export function fits(text: string, values: readonly (string | null | undefined)[]): boolean {
  const all = values.join('\n').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
