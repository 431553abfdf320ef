import type { INestApplicationContext } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import type { Server, ServerOptions } from 'socket.io';
import type { Settings } from '../../platform/config/settings/settings.js';
import { allowsOrigin } from '../../platform/http/middleware/cors.js';
import { LimitedWebSocketServer } from './message-limits.js';

const LARGEST_FRAME = 64 * 1024; // docs/realtime.md#limits

export class SocketServerAdapter extends IoAdapter {
  constructor(
    app: INestApplicationContext,
    private readonly settings: Settings,
  ) {
    super(app);
  }

  override createIOServer(port: number, options?: ServerOptions): Server {
    const isAllowed = (origin: string | undefined): boolean =>
      origin === undefined || allowsOrigin(this.settings, origin);
    const limits = {
      maxHttpBufferSize: LARGEST_FRAME,
      serveClient: false,
      perMessageDeflate: false,
      destroyUpgrade: false, // upgrades of other paths are ignored (platform/http/server/foreign-upgrades.ts)
      wsEngine: LimitedWebSocketServer,
      httpCompression: false,
      cors: {
        origin: (origin, callback) => callback(null, isAllowed(origin)),
        exposedHeaders: ['Retry-After'],
      },
      // CORS does not cover WebSocket upgrades: browsers open them from any origin.
      allowRequest: (request, callback) => callback(null, isAllowed(request.headers.origin)),
    } satisfies Partial<ServerOptions>;
    return super.createIOServer(port, { ...options, ...limits } as ServerOptions);
  }

  /**
   * Binds no handlers: Nest's subscriptions cost each socket several KiB, and messages would pass the guard
   * and pipe of HTTP requests.
   */
  override bindClientConnect(): void {}
}
