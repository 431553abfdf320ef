import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError, toServerError } from '../../platform/errors/oauth-error.js';
import { endIfUnread } from '../../platform/http/server/ending.js';
import { refuse } from '../../platform/http/server/refusal.js';
import { ANSWER_HEADERS } from '../../platform/http/middleware/security-headers.js';
import { refuseUnreadableRequests } from '../../platform/http/server/unreadable-requests.js';
import { Metrics } from './metrics.js';

/** Upper bound for connections: a few Prometheus servers and a person with curl. */
const MAX_CONNECTIONS = 100;
const TIMEOUT_MS = 10_000;

/** Serves `/metrics` on METRICS_PORT, until the last request of the main port has ended. */
@Injectable()
export class MetricsServer implements OnApplicationShutdown {
  private readonly logger = new Logger(MetricsServer.name);
  private readonly server: Server;

  constructor(
    private readonly metrics: Metrics,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    const limits = {
      headersTimeout: TIMEOUT_MS,
      requestTimeout: TIMEOUT_MS,
      connectionsCheckingInterval: 500,
      requireHostHeader: false,
    };
    this.server = createServer(limits, (request, response) => void this.answer(request, response));
    this.server.setTimeout(TIMEOUT_MS);
    this.server.maxConnections = MAX_CONNECTIONS;
    refuseUnreadableRequests(this.server, Date);
  }

  /** Listens if METRICS_PORT is set. @throws the error of the listener */
  async listen(): Promise<void> {
    const { metricsPort: port, host } = this.settings;
    if (port === undefined) return;
    this.server.listen({ port, host });
    await once(this.server, 'listening'); // rejects with `error`
    // a connection that could not be accepted
    this.server.on('error', (error) => this.logger.warn({ err: error }));
  }

  onApplicationShutdown(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '', method } = request;
    endIfUnread(request, response);
    const headers = { Allow: 'GET, HEAD' };
    try {
      if (url.split('?')[0] !== '/metrics')
        throw new OAuthError('not_found', 'there is nothing at this path');
      if (method !== 'GET' && method !== 'HEAD')
        throw new OAuthError('method_not_allowed', 'this path has other methods', { headers });
      const text = await this.metrics.text();
      const length = { 'Content-Type': Metrics.contentType, 'Content-Length': Buffer.byteLength(text) };
      response.writeHead(200, { ...ANSWER_HEADERS, ...length }).end(text);
    } catch (error) {
      if (error instanceof OAuthError) return refuse(response, error);
      this.logger.error({ err: error, msg: 'metrics could not be read' });
      refuse(response, toServerError(error));
    }
  }
}
