import type { Server } from 'node:http';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';

/** Some systems allow 1024 files by default, enough for a few hundred sockets. */
const LOW_LIMIT = 4096;
const WARN_EVERY_MS = 60_000;
const REMEDY = 'Raise it: `ulimit -n`, `LimitNOFILE=` of systemd, `nofile` of a container.';

/**
 * Reserves file descriptors for the database, Redis and providers, which connections of clients could
 * otherwise use up.
 */
@Injectable()
export class OpenFiles implements OnApplicationBootstrap {
  private readonly logger = new Logger(OpenFiles.name);
  private readonly limit = openFileLimit();
  /** Upper bound for connections; Node.js closes further ones at once. */
  private readonly maxConnections: number;
  /** Number of connections from which sockets are refused: the rest is for requests. */
  private readonly maxBeforeSocket: number;
  private warnedAt = -Infinity;

  constructor(
    private readonly http: HttpAdapterHost,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const part = Math.ceil(this.limit / 32);
    const rest = this.limit - settings.databasePoolSize - Math.max(64, part);
    this.maxConnections = Math.max(part, rest);
    this.maxBeforeSocket = this.maxConnections - Math.max(16, part);
  }

  onApplicationBootstrap(): void {
    if (this.limit === Infinity) return;
    this.server.maxConnections = this.maxConnections;
    this.server.on('drop', () => this.warn('connections are refused'));
    if (this.settings.production && this.limit < LOW_LIMIT)
      this.logger.warn(
        `The process may open ${this.limit} files, which allows for ${this.maxBeforeSocket} sockets. ${REMEDY}`,
      );
  }

  /** @throws OAuthError `slow_down` if the remaining descriptors are reserved for requests */
  async assertRoomForSocket(): Promise<void> {
    if (this.limit === Infinity) return;
    const open = await new Promise<number>((resolve, reject) =>
      this.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
    if (open <= this.maxBeforeSocket) return; // the count includes the socket's own connection
    this.warn('sockets are refused');
    throw new OAuthError('slow_down', 'too many connections are open', { headers: { 'Retry-After': '5' } });
  }

  private get server(): Server {
    return this.http.httpAdapter.getHttpServer() as Server;
  }

  private warn(effect: string): void {
    const now = performance.now();
    if (now - this.warnedAt < WARN_EVERY_MS) return;
    this.warnedAt = now;
    this.logger.warn(
      `File descriptors run out, ${effect}: the process may open ${this.limit} files. ${REMEDY}`,
    );
  }
}

/**
 * Returns the soft limit, which Node.js raises to the hard limit at its start; Infinity if there is none
 * (Windows).
 */
function openFileLimit(): number {
  const report = Object.assign(process.report, { excludeNetwork: true }); // no name lookups
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Infinity;
}
