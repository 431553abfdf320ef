import type { Client } from 'pg';
import type { HttpWorkload } from './options.js';

export async function tidy(admin: Client, workload: HttpWorkload): Promise<void> {
  if (workload !== 'W2') await sweep(admin);
  else await admin.query('CHECKPOINT');
}

/** Removes what earlier turns stored, and does the maintenance that this causes. */
export async function sweep(admin: Client): Promise<void> {
  await admin.query(`
    TRUNCATE access_tokens, authorization_states, floor.access_tokens, floor.authorization_states`);
  await admin.query('VACUUM users, devices, floor.users, floor.devices');
  await admin.query('CHECKPOINT');
}
