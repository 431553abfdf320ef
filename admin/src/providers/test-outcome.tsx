import type { ReactNode } from 'react';
import type { TestResult } from '../api/types.js';
import { FEATURES } from '../features.js';
import { Facts } from '../parts/facts.js';
import { Value } from '../parts/value.js';
import { columnsOf, Table } from '../parts/table.js';
import { Verdict } from './allow.js';

interface AcceptedClaim {
  readonly name: string;
  readonly value: unknown;
}

interface Dropped {
  readonly name: string;
  readonly why: string;
}

const ACCEPTED = columnsOf<AcceptedClaim>([
  { id: 'name', title: 'Claim', cell: ({ name }) => <bdi className="strong">{name}</bdi> },
  { id: 'value', title: 'Value', cell: ({ value }) => <Value value={value} /> },
]);
const DROPPED = columnsOf<Dropped>([
  { id: 'name', title: 'Claim', cell: ({ name }) => <bdi className="strong">{name}</bdi> },
  { id: 'why', title: 'Why', cell: ({ why }) => why },
]);

const NOT_SENT = <span className="soft">not sent</span>;

/** The identity and the claims of a test sign-in. */
export function TestOutcome({ result }: { result: TestResult }): ReactNode {
  const { identity, error, reason, claims_received, claims_kept, claims_dropped, allow } = result;
  const notices = FEATURES.flatMap((feature) => feature.testNotice?.(result) ?? []);
  const accepted = Object.entries(claims_kept).map(([name, value]) => ({ name, value }));
  return (
    <div className="outcome">
      {error && (
        <p className="notice bad" role="alert">
          The sign-in failed: <code>{error}</code> <bdi>{reason}</bdi>
        </p>
      )}
      {notices.map(({ text, isRefused }) => (
        <p key={text} className={isRefused ? 'notice bad' : 'hint'}>
          {text}
        </p>
      ))}
      {allow && !notices.some(({ isRefused }) => isRefused) && <Verdict verdict={allow} />}
      {identity && (
        <div className="halves">
          <div>
            <h3>Identity</h3>
            <Facts
              rows={[
                ['Id there', <code key="">{identity.provider_user_id}</code>],
                ['Name', identity.username ? <bdi>{identity.username}</bdi> : NOT_SENT],
                ['E-mail', identity.email ? <bdi>{identity.email}</bdi> : NOT_SENT],
                ['Picture', identity.avatar_url ? <code>{identity.avatar_url}</code> : NOT_SENT],
              ]}
            />
          </div>
          <div>
            <h3>Kept claims</h3>
            {accepted.length === 0 && <p className="hint">None.</p>}
            {accepted.length > 0 && (
              <Table label="Kept claims" columns={ACCEPTED} rows={accepted} keyOf={({ name }) => name} />
            )}
          </div>
        </div>
      )}
      {claims_dropped.length > 0 && (
        <>
          <h3>Dropped claims</h3>
          <Table label="Dropped claims" columns={DROPPED} rows={claims_dropped} keyOf={({ name }) => name} />
        </>
      )}
      {claims_received && (
        <details>
          <summary>Everything that was received</summary>
          <pre className="scroll" tabIndex={0} role="region" aria-label="Received claims">
            {JSON.stringify(claims_received, null, 2)}
          </pre>
        </details>
      )}
    </div>
  );
}
