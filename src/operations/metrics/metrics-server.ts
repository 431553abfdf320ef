import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { ignoreForeignUpgrades } from '../../http/server/foreign-upgrades.js';
import { refuse } from '../../http/server/refusal.js';
import { ANSWER_HEADERS } from '../../http/middleware/security-headers.js';
import { refuseUnreadableRequests } from '../../http/server/unreadable-requests.js';
import { Metrics } from './metrics.js';

const PATH = '/metrics';
const METHODS = ['GET', 'HEAD'];
/** A few Prometheus servers and a hand at the keyboard; nobody else should reach this port. */
const MOST_CONNECTIONS = 100;
/** For the head of a request, for all of it, and for a client that neither sends nor reads. */
const PATIENCE_MS = 10_000;

/** The port of its own (contract §2, METRICS_PORT): it answers until the last request of the main port has ended. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private readonly logger = new Logger(MetricsServer.name);
  private readonly server: Server;

  constructor(
    private readonly metrics: Metrics,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const limits = {
      headersTimeout: PATIENCE_MS,
      requestTimeout: PATIENCE_MS,
      connectionsCheckingInterval: 500,
      requireHostHeader: false,
    };
    this.server = createServer(limits, (request, response) => {
      this.answer(request, response).catch((error: unknown) => this.fail(response, error));
    });
    this.server.setTimeout(PATIENCE_MS);
    this.server.maxConnections = MOST_CONNECTIONS;
    ignoreForeignUpgrades(this.server);
    refuseUnreadableRequests(this.server, () => undefined); // the metric is of the main port
  }

  /** Where there is such a port, listens. @throws the error of the listener */
  async listen(): Promise<void> {
    const { metricsPort: port, host } = this.settings;
    if (port === undefined) return;
    this.server.listen({ port, host });
    await once(this.server, 'listening'); // rejects with `error`
    this.server.on('error', (error) => this.logger.warn({ err: error })); // of a connection, which ends it alone
  }

  onApplicationShutdown(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refusalOf(request);
    if (refusal) return refuse(response, refusal);
    const text = await this.metrics.text();
    response.writeHead(200, {
      ...ANSWER_HEADERS,
      'Content-Type': this.metrics.contentType,
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  }

  private fail(response: ServerResponse, error: unknown): void {
    this.logger.error({ err: error, msg: 'metrics could not be read' });
    if (response.headersSent) response.destroy();
    else refuse(response, new OAuthError('server_error', 'something went wrong'));
  }
}

function refusalOf({ url = '', method = '' }: IncomingMessage): OAuthError | undefined {
  if (url.split('?')[0] !== PATH) return new OAuthError('not_found', 'there is nothing at this path');
  if (METHODS.includes(method)) return undefined;
  const headers = { Allow: METHODS.join(', ') };
  return new OAuthError('method_not_allowed', 'this path has other methods', { headers });
}
