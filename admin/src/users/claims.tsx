import { useId, useState, type ReactNode } from 'react';
import useSWR from 'swr';
import { call, type ApiError } from '../api/api.js';
import type { Claims as ClaimSet, User, UserClaims } from '../api/types.js';
import { FEATURES } from '../features.js';
import { Action } from '../parts/action.js';
import { Empty, Failure, Loading } from '../parts/states.js';
import { Value } from '../parts/value.js';
import { columnsOf, Table } from '../parts/table.js';
import { nameOf } from '../parts/text.js';

interface Claim {
  readonly name: string;
  readonly value: unknown;
  readonly source: string;
}

const NAME = { id: 'name', title: 'Claim', cell: ({ name }: Claim) => <bdi className="strong">{name}</bdi> };
const VALUE = {
  id: 'value',
  title: 'Value',
  cell: ({ value }: Claim) => <Value value={value} />,
};
const SOURCE = { id: 'source', title: 'From', cell: ({ source }: Claim) => source };
const COLUMNS = columnsOf([NAME, VALUE]);
const COLUMNS_WITH_SOURCE = columnsOf([NAME, VALUE, SOURCE]);

/** The claims that tokens carry. */
export function EffectiveClaims({ claims }: { claims: ClaimSet }): ReactNode {
  const rows = Object.entries(claims).map(([name, value]) => ({ name, value, source: '' }));
  if (rows.length === 0) return <Empty>This user has no claims.</Empty>;
  return <Table label="Claims" columns={COLUMNS} rows={rows} keyOf={({ name }) => name} />;
}

/** The claims by source, and an editor for the application's claims. */
export function Claims({ path, user, reload }: { path: string; user: User; reload: () => void }): ReactNode {
  const { data, error, mutate } = useSWR<UserClaims, ApiError>(`${path}/claims`);
  if (!data) return error ? <Failure error={error} retry={() => void mutate()} /> : <Loading what="claims" />;
  const rows = Object.entries(data.effective).map(([claim, value]) => ({
    name: claim,
    value,
    source: sourceOf(claim, data, user),
  }));
  const save = async (claims: object): Promise<string> => {
    await call(`${path}/claims`, 'PUT', { claims });
    await mutate();
    reload();
    return 'The claims are saved.';
  };
  return (
    <>
      {rows.length === 0 && <Empty>This user has no claims.</Empty>}
      {rows.length > 0 && (
        <Table label="Claims" columns={COLUMNS_WITH_SOURCE} rows={rows} keyOf={(row) => row.name} />
      )}
      <Editor key={JSON.stringify(data.claims)} claims={data.claims} name={nameOf(user)} save={save} />
    </>
  );
}

function sourceOf(name: string, { claims, provider_claims }: UserClaims, user: User): string {
  if (!(name in claims)) {
    const sources = FEATURES.map((feature) => feature.claimSource?.(user, name));
    return sources.find((source) => source !== undefined) ?? 'Provider';
  }
  const isUnion = ['roles', 'groups', 'entitlements'].includes(name);
  return isUnion && name in provider_claims ? 'Both' : 'Application';
}

function Editor({
  claims,
  name,
  save,
}: {
  claims: ClaimSet;
  name: string;
  save: (claims: object) => Promise<string>;
}): ReactNode {
  const stored = JSON.stringify(claims, null, 2);
  const [text, setText] = useState(stored);
  const [error, parsed] = read(text);
  const id = useId();
  return (
    <details className="editor">
      <summary>Edit the application’s claims</summary>
      <label htmlFor={id}>Claims as a JSON object</label>
      <textarea
        id={id}
        value={text}
        onChange={({ target }) => setText(target.value)}
        rows={Math.min(16, text.split('\n').length + 1)}
        spellCheck={false}
        aria-invalid={error !== ''}
        aria-describedby={`${id}-about`}
      />
      <p id={`${id}-about`} className={error ? 'hint bad' : 'hint'}>
        {error ||
          'They are joined with the provider’s claims. Lists of roles, groups and entitlements are united.'}
      </p>
      {parsed && text !== stored && (
        <div className="actions">
          <Action label="Save" question="Change the claims?" yes="Save" run={() => save(parsed)}>
            The claims of <bdi className="strong">{name}</bdi> change at once, in all sessions. They may grant
            rights.
          </Action>
          <button type="button" className="button" onClick={() => setText(stored)}>
            Discard changes
          </button>
        </div>
      )}
    </details>
  );
}

/** The object that a text stands for, or what is wrong with it. */
function read(text: string): [string, object?] {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? ['', value] : ['Write an object: { "roles": ["editor"] }'];
  } catch (error) {
    return [`This is no JSON yet: ${(error as Error).message}`];
  }
}
