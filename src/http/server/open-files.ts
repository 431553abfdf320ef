import type { Server } from 'node:http';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { OAuthError } from '../../errors/oauth-error.js';

/** The least that is sensible in production: some systems begin with 1024, which is over with a few hundred sockets. */
const LOW = 4096;
const RETRY_AFTER_S = 5;
const WARN_EVERY_MS = 60_000;

/** How many connections may be open at once. */
export interface Room {
  /** Of all kinds: beyond it Node.js closes each new one as soon as it is accepted. */
  readonly connections: number;
  /** When so many are open, no further socket is let in: the rest is for requests. */
  readonly sockets: number;
}

/**
 * Each connection takes a file descriptor, and so do those to the database, to Redis and to providers. Without any left,
 * Node.js drops new connections and says nothing, and the service cannot reach its database either. So some are kept back.
 */
@Injectable()
export class OpenFiles implements OnApplicationBootstrap {
  private readonly logger = new Logger(OpenFiles.name);
  private readonly limit = openFileLimit();
  private readonly room: Room;
  private warnedAt = -Infinity;

  constructor(
    private readonly http: HttpAdapterHost,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.room = roomWithin(this.limit, settings.databasePoolSize);
  }

  onApplicationBootstrap(): void {
    if (this.limit === Infinity) return;
    const { server, limit } = this;
    const { connections, sockets } = this.room;
    server.maxConnections = connections;
    server.on('drop', () => this.warn(`connections are refused: ${connections} are open`));
    if (!this.settings.production || limit >= LOW) return;
    this.logger.warn(
      `The process may open ${limit} files, which allows for ${sockets} sockets. Raise it: ${REMEDY}.`,
    );
  }

  /** @throws OAuthError `slow_down` when the rest of the descriptors is for requests */
  async assertRoomForSocket(): Promise<void> {
    if (this.limit === Infinity) return;
    const open = await this.openConnections();
    if (open <= this.room.sockets) return; // it is among them
    this.warn(`sockets are refused: ${open} connections are open`);
    throw new OAuthError('slow_down', 'too many connections are open', {
      headers: { 'Retry-After': String(RETRY_AFTER_S) },
    });
  }

  private openConnections(): Promise<number> {
    return new Promise((resolve, reject) =>
      this.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  }

  private get server(): Server {
    return this.http.httpAdapter.getHttpServer() as Server;
  }

  private warn(what: string): void {
    const now = performance.now();
    if (now - this.warnedAt < WARN_EVERY_MS) return;
    this.warnedAt = now;
    this.logger.warn(
      `File descriptors run out, ${what}, and the process may open ${this.limit} files. Raise it: ${REMEDY}.`,
    );
  }
}

const REMEDY = '`ulimit -n`, `LimitNOFILE=` of systemd, `nofile` of a container';

/**
 * @param limit of open files
 * @param poolSize connections to the database
 */
export function roomWithin(limit: number, poolSize: number): Room {
  const connections = Math.max(limit / 4, limit - poolSize - Math.max(64, limit / 32));
  const sockets = Math.max(connections / 2, connections - Math.max(16, limit / 32));
  return { connections: Math.floor(connections), sockets: Math.floor(sockets) };
}

/**
 * How many files the process may open: Node.js has raised it to the hard limit when it started. Infinity where there is no limit,
 * or none that is known (Windows).
 */
function openFileLimit(): number {
  const report = Object.assign(process.report, { excludeNetwork: true }); // else it would look up names of other machines
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Infinity;
}
