import type { ReactNode } from 'react';

/** The value of a claim: tags for a list of texts, else JSON. */
export function Value({ value }: { value: unknown }): ReactNode {
  if (typeof value === 'string') return <bdi>{value}</bdi>;
  const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
  if (!isList) return <code>{JSON.stringify(value)}</code>;
  return (
    <span className="tags">
      {value.map((one) => (
        <bdi key={one} className="tag">
          {one}
        </bdi>
      ))}
    </span>
  );
}
