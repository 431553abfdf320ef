import { createHash } from 'node:crypto';

/** A state of ours (contract §4): 256 bits as hex. */
export const STATE = /^[0-9a-f]{64}$/i;

/** As which a state is stored, in either flow (authorization-state.entity.ts). */
export function hashOfState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}
