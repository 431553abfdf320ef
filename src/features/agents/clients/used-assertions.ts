import { hash } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { UsedAssertion } from './used-assertion.entity.js';

/** Seconds by which clocks may differ, at both ends. */
const MARGIN = 120;

/**
 * Uses an assertion up: of concurrent uses one succeeds, once it is committed.
 * @param id its owner and its `jti`
 * @param expiry seconds since the epoch
 * @returns false if it was used before
 */
export async function useOnce(manager: EntityManager, id: string, expiry: number): Promise<boolean> {
  const expiresAt = new Date((expiry + MARGIN) * 1000);
  const row = { idHash: hash('sha256', id, 'buffer'), expiresAt };
  const insert = manager.createQueryBuilder().insert().into(UsedAssertion).values(row).orIgnore();
  const { raw } = await insert.returning('expires_at').execute();
  return (raw as unknown[]).length === 1;
}
