import { useState, type ReactNode } from 'react';
import type {
  ProgramList,
  ProgramSignedOut,
  ProgramView,
} from '../../../../src/features/agents/support/programs.dto.js';
import { call, LONG_TIMEOUT, type ApiError } from '../../api/api.js';
import { Action } from '../../parts/action.js';
import { formatNumber } from '../../parts/locale.js';
import { ended } from '../../users/ended.js';
import { placeOf } from './which-program.js';

/** Milliseconds between two looks at how many sessions are left. */
const EVERY = 2000;

/** A button that ends a program at one API for all users, and shows how far it is. */
export function EndProgram({ program, reload }: { program: ProgramView; reload: () => void }): ReactNode {
  const { client_name, resource, sessions } = program;
  const [left, setLeft] = useState<number>();
  const count = async (): Promise<number> => {
    const now = await countSessions(program);
    setLeft(now);
    return now;
  };
  const run = async (): Promise<string> => {
    const timer = setInterval(() => void count().catch(() => undefined), EVERY);
    try {
      const done = ended(await endAll(program, count));
      reload();
      return done;
    } finally {
      clearInterval(timer);
    }
  };
  return (
    <Action
      label="End for all users"
      subject={`${client_name} at ${placeOf(resource)}`}
      isSmall
      isDangerous
      question="End this program for all users?"
      yes="End for all users"
      run={run}
    >
      <p>
        <span className="strong">
          {sessions === 1 ? 'One session' : `${formatNumber(sessions)} sessions`}
        </span>{' '}
        of <bdi className="strong">{client_name}</bdi> at {placeOf(resource)}{' '}
        {sessions === 1 ? 'ends' : 'end'} at once. Users may allow it again, as long as AGENTS_FILE accepts
        it.
      </p>
      <p role="status">
        {left !== undefined && `Sessions left: ${formatNumber(left)} of ${formatNumber(sessions)}.`}
      </p>
    </Action>
  );
}

/**
 * Ends all sessions of a program. After an interrupted call it goes on, if sessions have ended meanwhile.
 * @param count reads how many are left
 * @returns number of ended sessions
 */
async function endAll(program: ProgramView, count: () => Promise<number>): Promise<number> {
  const { client_id, resource } = program;
  for (let left = program.sessions; ;) {
    try {
      const body = { client_id, resource };
      const answer = await call<ProgramSignedOut>('/agents/sign-out', 'POST', body, LONG_TIMEOUT);
      return program.sessions - left + answer.sessions;
    } catch (error) {
      const now = (error as ApiError).isTransient ? await count() : left;
      if (now >= left) throw error;
      left = now;
    }
  }
}

async function countSessions({ client_id, resource }: ProgramView): Promise<number> {
  const { programs } = await call<ProgramList>('/admin/agents');
  const found = programs.find((one) => one.client_id === client_id && one.resource === resource);
  return found?.sessions ?? 0;
}
