import { randomBytes } from 'node:crypto';
import type { Client, Notification } from 'pg';

const HEARD_WITHIN_MS = 1000;

/**
 * Does what the connections are for: behind a pooler in transaction mode LISTEN is accepted, and even one's own messages come
 * with the answer to the statement that sends them, but nothing of others is ever heard.
 *
 * @param listener a new connection
 * @param teller another one, not connected yet; it is ended
 * @throws when the listener is not of use, with words for the log
 */
export async function tryOut(listener: Client, teller: Client): Promise<void> {
  const channel = `latchkey_trial_${randomBytes(8).toString('hex')}`; // of these two alone
  let hear: (heard: boolean) => void;
  const heard = new Promise<boolean>((resolve) => (hear = resolve));
  const onMessage = (message: Notification): void => {
    if (message.channel === channel) hear(true);
  };
  let timer: NodeJS.Timeout | undefined;
  listener.on('notification', onMessage);
  try {
    await listener.query(`LISTEN ${channel}`);
    await teller.connect();
    await teller.query(NOTIFY, [channel, '']);
    timer = setTimeout(() => hear(false), HEARD_WITHIN_MS);
    if (!(await heard)) throw new Error('nothing is heard there (is it a pooler?): set DATABASE_DIRECT_URL');
    await listener.query(`UNLISTEN ${channel}`);
  } finally {
    clearTimeout(timer);
    listener.off('notification', onMessage);
    teller.end().catch(() => undefined);
  }
}

/**
 * Tells `$2` on the channel `$1`. NOTIFY takes a lock of the whole server when it commits: it waits a second for that, where
 * no other limit counts, and then neither for a disk nor for a standby. Set for this statement only: behind a pooler a
 * setting of the session would become that of others, whose commits must wait.
 */
export const NOTIFY = `SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true), pg_notify($1, $2)`;
