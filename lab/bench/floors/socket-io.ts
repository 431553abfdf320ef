import { Pool } from 'pg';
import { Server } from 'socket.io';
import { listen } from '../parent.js';
import { authorize } from './authorize.js';
import { createFloorServer, type Params } from './server.js';
import { signInInOne } from './sign-in-one.js';
import { verifiedClaims } from './verify.js';

// Bare Socket.IO 4, as a first version is written: a middleware that checks the token's signature, a room for each user, and
// a push that emits to it. It asks no database for a socket, keeps no history, and does not notice a sign-out.
process.once('message', ({ databaseUrl, providerUrl }: { databaseUrl: string; providerUrl: string }) => {
  const pool = new Pool({ connectionString: databaseUrl, max: 10 });
  const server = createFloorServer(
    new Map([
      ['GET /oauth2/authorize', authorize(pool, providerUrl)],
      ['POST /oauth2/token', signInInOne(pool, providerUrl)],
      ['POST /push', push],
      ['POST /push/batch', pushBatch],
    ]),
  );
  const io = new Server(server, { serveClient: false });
  io.use((socket, next) => {
    const userId = verifiedClaims(String(socket.handshake.auth['token']))?.sub;
    socket.data = { userId };
    next(userId === undefined ? new Error('invalid_token') : undefined);
  });
  io.on('connection', (socket) => {
    const { userId } = socket.data as { userId: string };
    void socket.join(userId);
    socket.emit('ready', { user_id: userId });
  });
  function push({ user_id, event, data }: Params): object {
    io.to(user_id!).emit(event!, data);
    return {};
  }
  function pushBatch(body: object): object {
    const { events } = body as { events: readonly Params[] };
    return { results: events.map(push) };
  }
  void listen(server);
});
