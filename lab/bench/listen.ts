import { once } from 'node:events';
import type { Server } from 'node:http';

export async function listen(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1', 1024);
  await once(server, 'listening');
  process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
  process.once('disconnect', () => process.exit(0));
  const address = server.address();
  if (address !== null && typeof address !== 'string') process.send?.(address.port);
}
