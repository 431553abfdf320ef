import { createPublicKey, verify } from 'node:crypto';
import { Pool } from 'pg';
import { Server } from 'socket.io';
import { listen } from '../listen.js';
import { JWKS } from './access-token.js';
import { authorize } from './authorize.js';
import { createFloorServer, type Params } from './server.js';
import { signInInOne } from './sign-in-one.js';

// Bare Socket.IO 4, as a first version is written: a middleware that checks the token's signature, a room for each user, and
// a push that emits to it. It asks no database for a socket, keeps no history, and does not notice a sign-out.
const KEY = createPublicKey({ key: JWKS.keys[0]!, format: 'jwk' });

process.once('message', ({ databaseUrl, providerUrl }: { databaseUrl: string; providerUrl: string }) => {
  const pool = new Pool({ connectionString: databaseUrl, max: 10 });
  const server = createFloorServer(
    new Map([
      ['GET /oauth2/authorize', authorize(pool, providerUrl)],
      ['POST /oauth2/token', signInInOne(pool, providerUrl)],
      ['POST /push', push],
    ]),
  );
  const io = new Server(server, { serveClient: false });
  io.use((socket, next) => {
    const userId = userIdOf(String(socket.handshake.auth['token']));
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
  void listen(server);
});

function userIdOf(token: string): string | undefined {
  const [header = '', claims = '', signature = ''] = token.split('.');
  const signed = Buffer.from(`${header}.${claims}`);
  const key = { key: KEY, dsaEncoding: 'ieee-p1363' } as const;
  if (!verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) return undefined;
  const { sub, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as {
    sub: string;
    exp: number;
  };
  return exp * 1000 > Date.now() ? sub : undefined;
}
