import { Controller, Get, Header, type Type } from '@nestjs/common';
import { Public, ServiceKeyOnly } from '../../platform/http/access.js';
import { Metrics } from './metrics.js';

/** Creates `GET /metrics` on the main port: public, or with the right `read` (docs/metrics.md#scraping). */
export function metricsController(isPublic: boolean): Type {
  const access = isPublic ? Public() : ServiceKeyOnly('read');

  @access
  @Controller('metrics')
  class MetricsController {
    constructor(private readonly metrics: Metrics) {}

    /**
     * Metrics for Prometheus
     *
     * A service key is needed in production only. With `METRICS_PORT` the path is on that port only.
     *
     * @returns The text format of Prometheus.
     */
    @Get()
    @Header('Content-Type', Metrics.contentType)
    readMetrics(): Promise<string> {
      return this.metrics.text();
    }
  }
  return MetricsController;
}
