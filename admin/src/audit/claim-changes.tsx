import type { ReactNode } from 'react';
import type { AuditEvent } from '../api/types.js';
import { textsOf } from '../features.js';
import { Value } from '../parts/value.js';

type Changes = NonNullable<AuditEvent['changes']>;

const SOURCES: Readonly<Record<string, string>> = {
  provider: 'the provider',
  application: 'the application',
  ...textsOf('sources'),
};

/** What changed in the claims of a user, and its source. */
export function ClaimChanges({ changes: { source, added, removed } }: { changes: Changes }): ReactNode {
  return (
    <span className="changes">
      <List what="Added" claims={added} />
      <List what="Removed" claims={removed} />
      <span className="second">Claims of {SOURCES[source] ?? <bdi>{source}</bdi>}</span>
    </span>
  );
}

function List({ what, claims }: { what: 'Added' | 'Removed'; claims: Changes['added'] }): ReactNode {
  return Object.entries(claims).map(([name, value]) => (
    <span key={name} className={`change ${what.toLowerCase()}`}>
      <span aria-hidden="true">{what === 'Added' ? '+' : '−'}</span>
      <span className="visually-hidden">{what}:</span> <code>{name}</code> <Value value={value} />
    </span>
  ));
}
