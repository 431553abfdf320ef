import { randomBytes } from 'node:crypto';
import type { Client, Notification } from 'pg';

const HEARD_WITHIN_MS = 1000;

/**
 * Does on a new connection what it is for: behind a pooler in transaction mode, LISTEN is accepted and nothing is ever heard.
 * @throws when it is not of use, with words for the log
 */
export async function tryOut(client: Client): Promise<void> {
  const channel = `latchkey_trial_${randomBytes(8).toString('hex')}`; // of this connection alone
  let hear: (heard: boolean) => void;
  const heard = new Promise<boolean>((resolve) => (hear = resolve));
  const listener = (message: Notification): void => {
    if (message.channel === channel) hear(true);
  };
  const timer = setTimeout(() => hear(false), HEARD_WITHIN_MS);
  client.on('notification', listener);
  try {
    await client.query(`LISTEN ${channel}`);
    await client.query('SELECT pg_notify($1, $2)', [channel, '']);
    if (!(await heard)) throw new Error('this address is deaf (a pooler?), set DATABASE_DIRECT_URL');
    await client.query(`UNLISTEN ${channel}`);
  } finally {
    clearTimeout(timer);
    client.off('notification', listener);
  }
}
