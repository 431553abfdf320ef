import type { ReactNode } from 'react';
import { say } from './toast.js';

/** A value for programs, and a button that copies it. */
export function Copyable({ value, what }: { value: string; what: string }): ReactNode {
  const copy = (): void => {
    navigator.clipboard.writeText(value).then(
      () => say(`Copied: ${what}.`),
      () => say('The browser did not allow copying.'),
    );
  };
  return (
    <span className="copyable">
      <code>{value}</code>
      {'clipboard' in navigator && (
        <button type="button" className="button small" onClick={copy}>
          Copy<span className="visually-hidden"> {what}</span>
        </button>
      )}
    </span>
  );
}
