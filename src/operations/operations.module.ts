import { Module, type DynamicModule } from '@nestjs/common';
import type { Settings } from '../platform/config/settings/settings.js';
import { replaceable } from '../platform/database/replaceable.js';
import { HealthController } from './health.controller.js';
import { metricsController } from './metrics/metrics.controller.js';
import { Metrics } from './metrics/metrics.js';
import { MetricsServer } from './metrics/metrics-server.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { Readiness } from './readiness.js';
import { ExpiredRows, RowBatches } from './removal/expired-rows.js';
import { Removal } from './removal/removal.js';

@Module({
  controllers: [HealthController, OpenApiController],
  providers: [Metrics, MetricsServer, Readiness, replaceable(ExpiredRows, RowBatches), Removal],
})
export class OperationsModule {
  static forRoot({ metricsPort, production }: Settings): DynamicModule {
    const controllers = metricsPort === undefined ? [metricsController(!production)] : [];
    return { module: OperationsModule, controllers };
  }
}
