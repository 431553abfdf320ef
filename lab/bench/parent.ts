import { once } from 'node:events';
import type { Server } from 'node:http';

/** What the processes of a run have in common: they obey the one that has started them, and end with it. */
function endWithParent(): void {
  process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
  process.once('disconnect', () => process.exit(0));
}

/** Tells the parent the port. */
export async function listen(server: Server): Promise<void> {
  endWithParent();
  server.listen(0, '127.0.0.1', 1024);
  await once(server, 'listening');
  const address = server.address();
  if (address !== null && typeof address !== 'string') process.send?.(address.port);
}

/** Answers each message of the parent (`ask` in child.ts). */
export function answerParent(obey: (order: never) => Promise<object>): void {
  endWithParent();
  process.on('message', (order: unknown) => {
    void obey(order as never).then(
      (answer) => process.send!(answer),
      (error: Error) => process.send!({ error: error.message }),
    );
  });
}
