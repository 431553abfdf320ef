import type { ReactNode } from 'react';
import type { ApiError } from '../api/api.js';

/** Lines in the place of what is loading. */
export function Loading({ what, lines = 4 }: { what: string; lines?: number }): ReactNode {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">Loading {what} …</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className="line" aria-hidden="true" />
      ))}
    </div>
  );
}

/** What went wrong, and a button that tries again. */
export function Failure({ error, retry }: { error: ApiError; retry: () => void }): ReactNode {
  return (
    <div className="notice bad failure" role="alert">
      <p>
        {error.message} <code>{error.code}</code>
      </p>
      <button type="button" className="button small" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

export function Empty({ children }: { children: ReactNode }): ReactNode {
  return <p className="empty nothing">{children}</p>;
}

/** Continues a list that has more than is shown. */
export function More({
  isLoading,
  hasMore,
  more,
  label = 'Load more',
}: {
  isLoading: boolean;
  hasMore: boolean;
  more: () => void;
  label?: string;
}): ReactNode {
  if (!hasMore) return null;
  return (
    <p className="more">
      <button type="button" className="button" aria-disabled={isLoading} onClick={() => isLoading || more()}>
        {isLoading ? 'Loading …' : label}
      </button>
    </p>
  );
}
