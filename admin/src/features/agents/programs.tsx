import { useMemo, useState, type ReactNode } from 'react';
import useSWR from 'swr';
import type { ProgramList, ProgramView } from '../../../../src/features/agents/support/programs.dto.js';
import type { ApiError } from '../../api/api.js';
import { formatNumber } from '../../parts/locale.js';
import { Empty, Failure, More } from '../../parts/states.js';
import { columnsOf, Table } from '../../parts/table.js';
import { EndProgram } from './end-program.js';
import { placeOf, WhichProgram } from './which-program.js';

/** Programs that are shown at first. */
const FIRST = 10;

/** The programs that act for users, with the numbers of their sessions. */
export function Programs(): ReactNode {
  const { data, error, mutate } = useSWR<ProgramList, ApiError>('/admin/agents');
  const [isWhole, setWhole] = useState(false);
  const columns = useMemo(
    () =>
      columnsOf<ProgramView>([
        { id: 'program', title: 'Program', cell: (program) => <WhichProgram program={program} /> },
        { id: 'api', title: 'API', cell: ({ resource }) => <bdi>{placeOf(resource)}</bdi> },
        { id: 'sessions', title: 'Sessions', cell: ({ sessions }) => formatNumber(sessions) },
        {
          id: 'actions',
          title: 'Actions',
          cell: (program) => <EndProgram program={program} reload={() => void mutate()} />,
        },
      ]),
    [mutate],
  );
  // Without AGENTS_FILE there is no such call.
  if (error?.status === 404 || (!data && !error)) return null;
  const programs = data?.programs ?? [];
  return (
    <section className="card list" aria-labelledby="programs">
      <div className="head">
        <h2 id="programs">Programs that act for users</h2>
      </div>
      {error && <Failure error={error} retry={() => void mutate()} />}
      {data && programs.length === 0 && <Empty>No program may act for a user.</Empty>}
      {programs.length > 0 && (
        <Table
          label="Programs"
          columns={columns}
          rows={isWhole ? programs : programs.slice(0, FIRST)}
          keyOf={({ client_id, resource }) => `${client_id} ${resource}`}
        />
      )}
      <More
        isLoading={false}
        hasMore={!isWhole && programs.length > FIRST}
        more={() => setWhole(true)}
        label={`Show all ${formatNumber(programs.length)}`}
      />
    </section>
  );
}
