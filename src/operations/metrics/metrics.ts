import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { Clock } from '../../database/clock.js';
import { Events } from '../../events.js';
import { Readiness } from '../readiness.js';
import { channelMetrics } from './channel-metrics.js';
import { databaseMetrics } from './database-metrics.js';
import { httpMetrics } from './http-metrics.js';
import { processRegistry } from './process-metrics.js';
import { Registry } from './prom-client.js';
import { signInMetrics } from './sign-in-metrics.js';
import { stateMetrics } from './state-metrics.js';

/** What this instance tells Prometheus (docs/metrics.md). Labels have values of closed sets only. */
@Injectable()
export class Metrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  private readonly registry = new Registry();
  private underWay: Promise<string> | undefined;

  constructor(
    events: Events,
    readiness: Readiness,
    dataSource: DataSource,
    clock: Clock,
    @Inject(SETTINGS) settings: Settings,
  ) {
    httpMetrics(this.registry, events);
    signInMetrics(this.registry, events, settings);
    databaseMetrics(this.registry, events, dataSource, clock);
    channelMetrics(this.registry, events);
    stateMetrics(this.registry, events, readiness);
  }

  /** Everything, in Prometheus' text format. Those who ask at once share one answer. */
  text(): Promise<string> {
    this.underWay ??= this.write().finally(() => (this.underWay = undefined));
    return this.underWay;
  }

  private async write(): Promise<string> {
    const parts = await Promise.all([this.registry.metrics(), processRegistry.metrics()]);
    return (
      parts
        .map((part) => part.trim())
        .filter(Boolean)
        .join('\n\n') + '\n'
    );
  }
}
