import type { Server } from 'node:http';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { OAuthError } from '../../errors/oauth-error.js';

/** Some systems allow 1024 files by default, which are used up by a few hundred sockets. */
const LOW = 4096;
const RETRY_AFTER_S = 5;
const WARN_EVERY_MS = 60_000;
const REMEDY = 'Raise it: `ulimit -n`, `LimitNOFILE=` of systemd, `nofile` of a container.';

/**
 * Keeps file descriptors for the database, Redis and providers: if connections of clients took all, the service could not reach its
 * database, and Node.js would drop new connections without a word.
 */
@Injectable()
export class OpenFiles implements OnApplicationBootstrap {
  private readonly logger = new Logger(OpenFiles.name);
  private readonly limit = openFileLimit();
  /** Of all kinds; Node.js closes further ones as soon as they are accepted. */
  private readonly mostConnections: number;
  /** If so many connections are open, no further socket is admitted: the rest is for requests. */
  private readonly mostBeforeSocket: number;
  private warnedAt = -Infinity;

  constructor(
    private readonly http: HttpAdapterHost,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const part = Math.ceil(this.limit / 32);
    const rest = this.limit - settings.databasePoolSize - Math.max(64, part);
    this.mostConnections = Math.max(part, rest);
    this.mostBeforeSocket = this.mostConnections - Math.max(16, part);
  }

  onApplicationBootstrap(): void {
    if (this.limit === Infinity) return;
    this.server.maxConnections = this.mostConnections;
    this.server.on('drop', () => this.warn('connections are refused'));
    if (this.settings.production && this.limit < LOW)
      this.logger.warn(
        `The process may open ${this.limit} files, which allows for ${this.mostBeforeSocket} sockets. ${REMEDY}`,
      );
  }

  /** @throws OAuthError `slow_down` if the rest of the descriptors is for requests */
  async assertRoomForSocket(): Promise<void> {
    if (this.limit === Infinity) return;
    const open = await new Promise<number>((resolve, reject) =>
      this.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
    if (open <= this.mostBeforeSocket) return; // the socket's own connection is counted already
    this.warn('sockets are refused');
    throw new OAuthError('slow_down', 'too many connections are open', {
      headers: { 'Retry-After': String(RETRY_AFTER_S) },
    });
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

/** Node.js has raised it to the hard limit at its start. @returns Infinity if there is no limit, or none is known (Windows) */
function openFileLimit(): number {
  const report = Object.assign(process.report, { excludeNetwork: true }); // else it would look up names of other machines
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Infinity;
}
