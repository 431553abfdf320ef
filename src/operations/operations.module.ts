import { Module, type DynamicModule } from '@nestjs/common';
import type { Settings } from '../platform/config/settings/settings.js';
import { HealthController } from './health.controller.js';
import { metricsController } from './metrics/metrics.controller.js';
import { Metrics } from './metrics/metrics.js';
import { MetricsServer } from './metrics/metrics-server.js';
import { Readiness } from './readiness.js';

@Module({})
export class OperationsModule {
  static forRoot({ metricsPort, production }: Settings): DynamicModule {
    return {
      module: OperationsModule,
      controllers: [HealthController, ...(metricsPort === undefined ? [metricsController(!production)] : [])],
      providers: [Metrics, MetricsServer, Readiness],
    };
  }
}
