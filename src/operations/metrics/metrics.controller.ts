import { Controller, Get, Header, type Type } from '@nestjs/common';
import { Public, ServiceKeyOnly } from '../../token/guard/access.js';
import { Metrics } from './metrics.js';
import { Registry } from './prom-client.js';

/** `GET /metrics` on the main port: for everybody, or for the holder of a service key with the right `read` (contract §2). */
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
    @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
    readMetrics(): Promise<string> {
      return this.metrics.text();
    }
  }
  return MetricsController;
}
