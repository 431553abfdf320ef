import type { INestApplicationContext } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import type { Server, ServerOptions } from 'socket.io';
import type { Settings } from '../../config/settings/settings.js';
import { allowsOrigin } from '../../http/middleware/cors.js';
import { checkGateways } from './check-gateways.js';
import { LimitedWebSocketServer } from './message-limits.js';

const LARGEST_FRAME = 64 * 1024; // contract §7
const HANDSHAKE_MS = 10_000;

/** Nest's Socket.IO adapter with the service's limits, and without the listeners that Nest adds to every socket. */
export class SocketServerAdapter extends IoAdapter {
  /** @throws Error for a gateway that would not work with it */
  constructor(
    app: INestApplicationContext,
    private readonly settings: Settings,
  ) {
    super(app);
    checkGateways(app); // see bindClientConnect
  }

  override createIOServer(port: number, options?: ServerOptions): Server {
    const isAllowed = (origin: string | undefined): boolean =>
      origin === undefined || allowsOrigin(this.settings, origin);
    const limits = {
      maxHttpBufferSize: LARGEST_FRAME,
      connectTimeout: HANDSHAKE_MS,
      serveClient: false,
      perMessageDeflate: false,
      destroyUpgrade: false, // those of other paths are ignored (http/server/foreign-upgrades.ts)
      wsEngine: LimitedWebSocketServer,
      httpCompression: false,
      cors: {
        origin: (origin, callback) => callback(null, isAllowed(origin)),
        exposedHeaders: ['Retry-After'],
      },
      // CORS does not cover WebSocket upgrades: browsers open them from anywhere.
      allowRequest: (request, callback) => callback(null, isAllowed(request.headers.origin)),
    } satisfies Partial<ServerOptions>;
    return super.createIOServer(port, { ...options, ...limits } as ServerOptions);
  }

  /**
   * Binds nothing: the gateway listens itself. Nest's subscriptions would cost each socket several KiB, and its messages would
   * pass the global guard and pipe, which are made for requests, but not the filter that writes our errors.
   */
  override bindClientConnect(): void {}
}
