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

    /** What this instance tells Prometheus, in its text format. */
    @Get()
    @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
    read(): Promise<string> {
      return this.metrics.text();
    }
  }
  return MetricsController;
}
