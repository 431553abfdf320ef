import type { ReactNode } from 'react';

/** A choice of one of a few. */
export function Switch({
  name,
  legend,
  options,
  value,
  choose,
}: {
  name: string;
  legend: string;
  options: readonly (readonly [value: string, label: string])[];
  value: string;
  choose: (value: string) => void;
}): ReactNode {
  return (
    <fieldset className="switch">
      <legend className="visually-hidden">{legend}</legend>
      {options.map(([one, label]) => (
        <label key={one}>
          <input type="radio" name={name} checked={one === value} onChange={() => choose(one)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
