import type { ReactNode } from 'react';
import type { ProgramView } from '../../../../src/features/agents/support/programs.dto.js';

/** What a program calls itself, and the address that proves it, or its name in AGENTS_FILE. */
export function WhichProgram({
  program: { client_name, client_id },
}: {
  program: Pick<ProgramView, 'client_id' | 'client_name'>;
}): ReactNode {
  return (
    <>
      <bdi className="strong">{client_name}</bdi>
      <bdi className="second">{placeOf(client_id)}</bdi>
    </>
  );
}

/** Returns an address without its scheme; other text as it is. */
export function placeOf(address: string): string {
  return address.replace(/^\w+:\/\//, '').replace(/\/$/, '');
}
