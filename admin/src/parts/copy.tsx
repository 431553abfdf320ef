import type { ReactNode } from 'react';
import { say } from './toast.js';

interface CopyProps {
  readonly value: string;
  readonly what: string;
}

/** A value for programs, and a button that copies it. */
export function Copyable(props: CopyProps): ReactNode {
  return (
    <span className="copyable">
      <code>{props.value}</code>
      <Copy {...props} />
    </span>
  );
}

/** A button that copies a text; browsers have no clipboard for a page without TLS. */
export function Copy({ value, what }: CopyProps): ReactNode {
  if (!('clipboard' in navigator)) return null;
  const copy = (): void => {
    navigator.clipboard.writeText(value).then(
      () => say(`Copied: ${what}.`),
      () => say('The browser did not allow copying.'),
    );
  };
  return (
    <button type="button" className="button small" onClick={copy}>
      Copy<span className="visually-hidden"> {what}</span>
    </button>
  );
}
