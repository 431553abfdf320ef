import { keysCommand } from '../../test/support/service-process.js';
import type { World } from '../world/world.js';
import type { Shared } from './client.js';

/** Makes the next key, and withdraws the one that has signed the newest session's token, with the command that operators use. */
export async function changeKeys(world: World, shared: Pick<Shared, 'ledger' | 'recorder'>): Promise<void> {
  await change('rotate');
  const newest = shared.ledger.sessions.at(-1);
  if (newest) await change('revoke', newest.token.name.kid);

  async function change(what: 'rotate' | 'revoke', kid?: string): Promise<void> {
    const begun = performance.now();
    const args = kid === undefined ? [what] : [what, kid];
    const { code } = await keysCommand({ DATABASE_URL: world.databaseUrl() }, ...args);
    const call = { kind: 'key', client: 'operator', instance: -1, begun, ended: performance.now() } as const;
    const outcome = code === 0 ? 'ok' : 'unknown';
    shared.recorder.record({ ...call, change: what, ...(kid !== undefined && { kid }), outcome });
  }
}
